"""Compares the interface of two code objects: parameters, flags, closure, docstring, name; and the order of local
variables.

``locals()`` shows that order, and they are released in it when the frame ends.  A compiler numbers them as it meets
them, in code that is never reached, too: ``if 0: w = 3`` puts ``w`` first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from types import MappingProxyType
from typing import NamedTuple

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import (
    CO_ASYNC_GENERATOR,
    CO_COROUTINE,
    CO_FUTURE_ANNOTATIONS,
    CO_GENERATOR,
    CO_ITERABLE_COROUTINE,
    CO_NEWLOCALS,
    CO_OPTIMIZED,
    CO_VARARGS,
    CO_VARKEYWORDS,
    CodeUnit,
    nested_units,
)
from depyf.decompiler.bytecode.lower import Lowered, lower
from depyf.decompiler.bytecode.ops import Instr
from depyf.decompiler.bytecode.variables.slots import slots_of
from depyf.decompiler.bytecode.variables.spelling import exact
from depyf.decompiler.generated.contract import READ_LOCALS
from depyf.decompiler.verify.assumptions import CODE_NAME_NOTE, NAME_NOTE, PARAMETER_NOTE, SLOT_NOTE
from depyf.decompiler.verify.relation.values import const_key
from depyf.errors import BytecodeError

FLAGS = {
    CO_OPTIMIZED: "fast locals",
    CO_NEWLOCALS: "new locals",
    CO_VARARGS: "*args",
    CO_VARKEYWORDS: "**kwargs",
    CO_GENERATOR: "generator",
    CO_COROUTINE: "coroutine",
    CO_ITERABLE_COROUTINE: "iterable coroutine",
    CO_ASYNC_GENERATOR: "async generator",
    CO_FUTURE_ANNOTATIONS: "future annotations",
}
MASK = sum(FLAGS)
NO_RENAMES: Mapping[str, str] = MappingProxyType({})


def signature_difference(original: CodeUnit, recompiled: CodeUnit, renames: Mapping[str, str] = NO_RENAMES) -> str:
    """Why callers could tell the two apart without running them, or ``""``.

    ``renames``: other names in ``recompiled`` -> original ones that are no identifiers.
    """
    if original.name != recompiled.name and exact(original.name) is not None:
        return f"the name is {recompiled.name}, not {original.name}"
    if (original.flags ^ recompiled.flags) & MASK:
        names = [text for flag, text in FLAGS.items() if (original.flags ^ recompiled.flags) & flag]
        return f"the flags differ in {', '.join(names)}"
    for what in ("argcount", "posonlyargcount", "kwonlyargcount"):
        left, right = getattr(original, what), getattr(recompiled, what)
        if left != right:
            return f"{what} is {right}, not {left}"
    for left, right in zip(original.params, recompiled.params):
        if left != right and exact(left) is not None and not iterable_renamed(original, recompiled):
            return f"the parameter {left} is called {right}"
    for what, one, other in (
        ("free", original.freevars, recompiled.freevars),
        ("cell", original.cellvars, recompiled.cellvars),
    ):
        if one != tuple(renames.get(name, name) for name in other):
            return f"the {what} variables are {other}, not {one}"
    if original.flags & CO_OPTIMIZED and not original.name.startswith("<"):
        docs = original.docstring, recompiled.docstring
        if const_key(docs[0]) != const_key(docs[1]):
            return "the docstring differs"
    return ""


def parameter_renames(original: CodeUnit, recompiled: CodeUnit) -> dict[str, str]:
    """Recompiled parameter -> original one, where the original name is no identifier (``.0``), or should be ``.0``."""
    any_name = iterable_renamed(original, recompiled)
    pairs = zip(original.params, recompiled.params)
    return {new: old for old, new in pairs if old != new and (any_name or exact(old) is None)}


def iterable_renamed(original: CodeUnit, recompiled: CodeUnit) -> bool:
    """Whether a program called the iterable of a comprehension something else: its code alone can read it."""
    return recompiled.params == (".0",) != original.params and recompiled.name.startswith("<")


def named_otherwise(original: CodeUnit, recompiled: CodeUnit, nested: bool) -> bool:
    """Whether the text gives a function another name, because it has one that is no identifier.

    What is shown of a lambda alone, or of code that Dynamo made of one, is the text of a function.
    """
    return original.name != recompiled.name and (nested or "<" not in original.name)


def qualname_difference(original: CodeUnit, recompiled: CodeUnit, around: Iterable[tuple[CodeUnit, CodeUnit]]) -> str:
    """Nested functions must be called alike relative to what is around them, which may itself sit elsewhere.

    ``around``: the pairs that they are nested in, the innermost first.
    """
    left, right = original.qualname, recompiled.qualname
    for outer, other in around:
        if left.startswith(outer.qualname + ".") and right.startswith(other.qualname + "."):
            left, right = left[len(outer.qualname) :], right[len(other.qualname) :]
            if exact(original.name) is None and left.endswith(original.name) and right.endswith(recompiled.name):
                left, right = left[: len(left) - len(original.name)], right[: len(right) - len(recompiled.name)]
            return "" if left == right else f"the qualified name ends in {right}, not {left}"
    return ""


def called_otherwise(original: CodeUnit, recompiled: CodeUnit, around: Iterable[tuple[CodeUnit, CodeUnit]]) -> bool:
    """Whether a nested function has a qualified name that no function around it gave it, and the text gives another."""
    left, right = original.qualname, recompiled.qualname
    if left == right or not original.has_qualname:
        return False
    return not any(left.startswith(o.qualname + ".") and right.startswith(r.qualname + ".") for o, r in around)


NO_CLASS = "super() looks for the variable __class__, which has another name in the text"
SHOWN = "what looks at its local variables sees them in another order"
NAMED = "what looks at its local variables sees names that no source can have"
_LOADS = frozenset(
    {ops.LOAD_GLOBAL, ops.LOAD_NAME, ops.LOAD_FROM_DICT_OR_GLOBALS, ops.LOAD_ATTR, ops.LOAD_METHOD, ops.IMPORT_FROM}
)
_OWNERS = frozenset({ops.LOAD_GLOBAL, ops.LOAD_NAME, ops.LOAD_FAST, ops.LOAD_DEREF})
_NO_CALLS = frozenset({ops.POP, ops.RETURN, ops.IS, ops.COMPARE, ops.CONTAINS, ops.BINARY, ops.UNARY, ops.BRANCH})
"""What takes a function from the stack, and neither calls it nor hands it to what could do so in the same frame."""
_LOOKS = READ_LOCALS | {"_getframe", "currentframe", "f_locals"}


class Looks(NamedTuple):
    """What a function asks of its local variables: ``names`` are those of which it only asks whether they are bound."""

    at_all: bool = False
    names: frozenset[str] = frozenset()


def looks(unit: CodeUnit) -> Looks:
    """Whether an instruction of ``unit`` may ask for its local variables: by a function that does, or that may be
    called later.

    ``"x" in locals()``, which pytest writes into tests, asks for one.
    """
    if any(type(const) is str and const in _LOOKS for const in unit.consts):
        return Looks(True)
    if _LOOKS.isdisjoint(unit.names):
        return Looks()
    try:
        instrs = lower(unit).instrs
    except BytecodeError:
        return Looks(True)
    names = set()
    for at, instr in enumerate(instrs):
        if instr.op not in _LOADS or instr.arg not in _LOOKS:
            continue
        if instrs[at + 1].op in _NO_CALLS and instr.arg != "f_locals":
            continue
        name = _asked_for(instrs, at) if instr.arg == "locals" else None
        if name is None:
            return Looks(True)
        names.add(name)
    return Looks(False, frozenset(names))


def _asked_for(instrs: Sequence[Instr], at: int) -> str | None:
    """The constant in ``constant in locals()``, or in ``constant in builtins.locals()``, where ``locals`` is loaded at
    ``at``."""
    start, end = at, at + 1
    if instrs[at].op in (ops.LOAD_METHOD, ops.LOAD_ATTR):
        start -= 1
        if instrs[max(start, 0)].op not in _OWNERS:
            return None
    start -= start > 0 and instrs[start - 1].op == ops.NULL
    end += instrs[end].op == ops.NULL
    call, test, const = instrs[end], instrs[min(end + 1, len(instrs) - 1)], instrs[start - 1] if start else instrs[at]
    called = call.op == ops.CALL and not call.arg.count and not call.arg.keywords
    inside = {*range(start, end + 2)}
    if not called or test.op != ops.CONTAINS or const.op != ops.LOAD_CONST or type(const.arg) is not str:
        return None
    return None if any(instr.target in inside for instr in instrs) else const.arg


def looks_at_locals(unit: CodeUnit) -> bool:
    """Whether ``unit`` may ask for its local variables, be it for all of them or whether one is bound."""
    found = looks(unit)
    return found.at_all or bool(found.names)


def other_names(original: CodeUnit, recompiled: CodeUnit, renames: Mapping[str, str]) -> tuple[str, ...]:
    """What is assumed because ``recompiled`` has other names than the code was read with: see ``told_apart``, and
    ``renames``."""
    read = original.given or original
    notes = []
    if (read.name, read.qualname) != (original.name, original.qualname):
        notes.append(CODE_NAME_NOTE if exact(read.name) or read.name.endswith(">") else NAME_NOTE)
    here = {
        new for new, old in renames.items() if not old.startswith(".")
    }  # compilers give names that begin with a dot
    if not here.isdisjoint(recompiled.params) or read.params != original.params:
        notes.append(PARAMETER_NOTE)
    rest = {*recompiled.varnames, *recompiled.cellvars, *recompiled.freevars}.difference(recompiled.params)
    count = len(read.params)
    if not here.isdisjoint(rest) or _names(read)[count:] != _names(original)[count:]:
        notes.append(SLOT_NOTE)
    return tuple(notes)


def _names(unit: CodeUnit) -> list[str]:
    return [name for name, _ in slots_of(unit)]


def hides_class(original: CodeUnit) -> bool:
    """Whether ``super()``, which looks for a free variable of this name, finds another one, or none, in the text."""
    read = original.given
    if read is None or "super" not in original.names:
        return False
    return any(one != other and "__class__" in (one, other) for one, other in zip(read.freevars, original.freevars))


def looked_for(original: CodeUnit, recompiled: CodeUnit, renames: Mapping[str, str]) -> bool:
    """Whether ``original`` may ask for its local variables, and sees in ``recompiled`` that one of them is called
    otherwise.

    It does not see that where it asks for single names, which are called alike, and are bound whenever it asks.
    """
    own, before = _variables(recompiled), _variables(original)
    hidden = ".0" if original.params[:1] == (".0",) else None  # the compiler gave it to a comprehension
    changed = {name for pair in renames.items() if pair[0] in own and pair[1] != hidden for name in pair}
    if original.given is not None:
        pairs = zip_longest(_names(original.given), _names(original), fillvalue="")
        changed.update(name for pair in pairs if pair[0] != pair[1] for name in pair)
    if not changed:
        return False
    found = looks(original)
    if found.at_all or not found.names:
        return found.at_all
    if looks(recompiled) != found or {renames.get(name, name) for name in own} != before:
        return True
    if not found.names.isdisjoint(changed):
        return True
    left, right = lower(original), lower(recompiled)
    return any(name in before and (_may_lack(left, name) or _may_lack(right, name)) for name in found.names)


def _variables(unit: CodeUnit) -> set[str]:
    return {*unit.varnames, *unit.cellvars, *unit.freevars}


def _may_lack(code: Lowered, name: str) -> bool:
    """Whether ``code`` may ask for ``name`` while it is not bound."""
    if name in code.unit.cellvars or name in code.unit.freevars:
        return True  # others may unbind it
    instrs, handlers = code.instrs, code.handlers
    if any(instr.op == ops.LOAD_FAST_CLEAR and instr.arg == name for instr in instrs):
        return True
    sites = {at for at, instr in enumerate(instrs) if instr.arg == "locals" and _asked_for(instrs, at) == name}
    work = [at + 1 for at, instr in enumerate(instrs) if instr.op == ops.DELETE_FAST and instr.arg == name]
    work += [] if name in code.unit.params else [0]
    seen: set[int] = set()
    while work:
        at = work.pop()
        if at in seen:
            continue
        seen.add(at)
        if at in sites:
            return True
        instr = instrs[at]
        if instr.handler >= 0 and instr.op not in ops.SILENT:
            work.append(handlers[instr.handler].target)
        if instr.arg == name and instr.op in (ops.LOAD_FAST, ops.STORE_FAST):
            continue
        if instr.target >= 0:
            work.append(instr.target)
        if instr.op not in ops.TERMINATORS:
            work.append(at + 1)
    return False


def same_order(original: Lowered, recompiled: Lowered, renames: Mapping[str, str]) -> bool:
    """Whether the variables that both bind are in one order."""
    return _in_order(original, _bound(recompiled, renames), {}) == _in_order(recompiled, _bound(original, {}), renames)


def _bound(code: Lowered, renames: Mapping[str, str]) -> set[str]:
    return {renames.get(i.arg, i.arg) for i in code.instrs if i.op == ops.STORE_FAST}


def _in_order(code: Lowered, wanted: set[str], renames: Mapping[str, str]) -> list[str]:
    own = _bound(code, renames)
    return [name for v in code.unit.varnames if (name := renames.get(v, v)) in wanted and name in own]


def misplaced(original: CodeUnit, recompiled: CodeUnit) -> Iterator[CodeUnit]:
    """The code objects in ``original``, itself included, that have their cells in another order in ``recompiled``, or
    may look at their variables, and have those so; nested ones are matched by name and rank."""
    if original.cellvars != recompiled.cellvars and sorted(original.cellvars) == sorted(recompiled.cellvars):
        yield original
    elif original.flags & CO_OPTIMIZED and looks(original).at_all:
        one, other = original.varnames, recompiled.varnames
        if [v for v in one if v in other] != [v for v in other if v in one]:
            yield original
    others: dict[str, list[CodeUnit]] = {}
    for inner in nested_units(recompiled):
        others.setdefault(inner.name, []).append(inner)
    for inner in nested_units(original):
        if others.get(inner.name):
            yield from misplaced(inner, others[inner.name].pop(0))
