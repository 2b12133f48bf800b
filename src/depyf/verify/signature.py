"""Compares the interface of two code objects: parameters, flags, closure, docstring, name; and the order of local variables.

``locals()`` shows that order, and they are released in it when the frame ends.  A compiler numbers them as it meets them, in
code that is never reached, too: ``if 0: w = 3`` puts ``w`` first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from depyf.bytecode import ops
from depyf.bytecode.codeunit import (
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
from depyf.bytecode.lower import Lowered
from depyf.bytecode.variables.slots import slots_of
from depyf.bytecode.variables.spelling import exact
from depyf.generated.contract import READ_LOCALS
from depyf.verify.assumptions import CODE_NAME_NOTE, NAME_NOTE, PARAMETER_NOTE, SLOT_NOTE
from depyf.verify.relation.values import const_key

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
    """Recompiled parameter -> original one, where the original name is not an identifier (``.0``), or should be ``.0``."""
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
_LOOKS = READ_LOCALS | {"_getframe", "currentframe", "f_locals"}


def looks_at_locals(unit: CodeUnit) -> bool:
    """Whether the names in ``unit`` say that it may ask for its local variables, one after the other."""
    return not _LOOKS.isdisjoint(unit.names) or any(type(const) is str and const in _LOOKS for const in unit.consts)


def other_names(original: CodeUnit, recompiled: CodeUnit, renames: Mapping[str, str]) -> tuple[str, ...]:
    """What is assumed because ``recompiled`` has other names than the code was read with: see ``told_apart``, and ``renames``."""
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
    """Whether ``original`` may ask for its local variables, and one of them is called otherwise in ``recompiled``."""
    own = {*recompiled.varnames, *recompiled.cellvars, *recompiled.freevars}
    read = original.given
    renamed = read is not None and _names(read) != _names(original)
    hidden = ".0" if original.params[:1] == (".0",) else None  # the compiler gave it to a comprehension
    renamed = renamed or any(new in own and old != hidden for new, old in renames.items())
    return renamed and looks_at_locals(original)


def same_order(original: Lowered, recompiled: Lowered, renames: Mapping[str, str]) -> bool:
    """Whether the variables that both bind are in one order."""
    return _in_order(original, _bound(recompiled, renames), {}) == _in_order(recompiled, _bound(original, {}), renames)


def _bound(code: Lowered, renames: Mapping[str, str]) -> set[str]:
    return {renames.get(i.arg, i.arg) for i in code.instrs if i.op == ops.STORE_FAST}


def _in_order(code: Lowered, wanted: set[str], renames: Mapping[str, str]) -> list[str]:
    own = _bound(code, renames)
    return [name for v in code.unit.varnames if (name := renames.get(v, v)) in wanted and name in own]


def misplaced(original: CodeUnit, recompiled: CodeUnit) -> Iterator[CodeUnit]:
    """The code objects in ``original``, itself included, that have their cells in another order in ``recompiled``, or may look at
    their variables, and have those so; nested ones are matched by name and rank."""
    if original.cellvars != recompiled.cellvars and sorted(original.cellvars) == sorted(recompiled.cellvars):
        yield original
    elif original.flags & CO_OPTIMIZED and looks_at_locals(original):
        one, other = original.varnames, recompiled.varnames
        if [v for v in one if v in other] != [v for v in other if v in one]:
            yield original
    others: dict[str, list[CodeUnit]] = {}
    for inner in nested_units(recompiled):
        others.setdefault(inner.name, []).append(inner)
    for inner in nested_units(original):
        if others.get(inner.name):
            yield from misplaced(inner, others[inner.name].pop(0))
