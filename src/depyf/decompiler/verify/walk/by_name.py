"""Operations that the text expresses by calling a builtin, where no source compiles to the original's instruction.

    LOAD_ATTR a b               getattr(x, "a b")                       an attribute that no identifier can name
    STORE_ATTR, DELETE_ATTR     setattr(x, "a b", v), delattr(x, "a b")
    LOAD_SUPER_ATTR a b         getattr(super(__class__, self), "a b")
    IMPORT_NAME m               __import__("m")                         a module that is a value in an expression
    BUILD_MAP 20                dict([(k, v), ...])                     see ``wide``

Each is the event of the instruction that the original stands before.  That the names give these builtins is assumed,
and the proof says so (``Program.builtins_named``).
"""

from __future__ import annotations

import builtins
import unicodedata
from typing import Any, NamedTuple

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.tables.static_attributes import NAME as STATIC
from depyf.decompiler.verify.relation.values import Values
from depyf.decompiler.verify.state.proof_state import Pair, Side

_KEPT = frozenset({"None", "True", "False", "__debug__"})
_LOOKING_UP = frozenset({ops.LOAD_GLOBAL, ops.LOAD_NAME})
_LOADING = frozenset({ops.LOAD_ATTR, ops.LOAD_METHOD})
_SUPER = {ops.LOAD_SUPER_ATTR: ops.LOAD_SUPER_ATTR, ops.LOAD_SUPER_METHOD: ops.LOAD_SUPER_ATTR}
_PARENT = "parent of"
"""Tag of a ``super`` object that is made for one attribute."""


class Call(NamedTuple):
    """A call as an event of another operation."""

    key: tuple[Any, ...]
    operands: tuple[int, ...]
    results: int


def look_up(pair: Pair, side: Side, other: Side, values: Values, name: str) -> bool:
    """The name of a builtin that the original looks up as well, but not where it stands."""
    if other.pc >= 0:
        instr = other.program.instrs[other.pc]
        if instr.op in _LOOKING_UP and other.program.arg[other.pc] == name:
            return False
    side.program.builtins_named.add(name)
    side.stack.append(values.const(side.program.builtins[name]))
    return True


def said_by_call(
    pair: Pair, values: Values, callee: int, arguments: tuple[int, ...], keywords: tuple[str, ...]
) -> Call | None:
    """The event of the original's instruction that a call in the text expresses."""
    original = pair.a
    known = values.desc[callee]
    if original.pc < 0 or known is None or known[0] != "const":
        return None
    op, called = original.program.instrs[original.pc].op, known[1]
    if called is builtins.__import__ and op == ops.IMPORT_NAME:
        return _imported(values, arguments, keywords, original.stack[-1])
    if keywords or len(arguments) < 2:
        return None
    name = attribute_name(values, arguments[1])
    if name is None:
        return None
    if called is builtins.getattr and len(arguments) == 2:
        parent = values.desc[arguments[0]]
        if op in _SUPER and parent is not None and parent[0:2] == ("op", _PARENT):
            return Call((_SUPER[op], (name, original.program.arg[original.pc][1])), parent[2], 1)
        return Call((ops.LOAD_ATTR, name), arguments[:1], 1) if op in _LOADING else None
    if called is builtins.setattr and len(arguments) == 3 and op == ops.STORE_ATTR:
        return Call((ops.STORE_ATTR, name), (arguments[2], arguments[0]), 0)
    if called is builtins.delattr and len(arguments) == 2 and op == ops.DELETE_ATTR:
        return Call((ops.DELETE_ATTR, name), arguments[:1], 0)
    return None


def attribute_name(values: Values, value: int) -> str | None:
    """The attribute that a value names, if it is a constant."""
    known = values.desc[value]
    return known[1] if known is not None and known[0] == "const" and type(known[1]) is str else None


def notes_less(note: str, listed: Any, noted: Any) -> bool:
    """Whether a class notes the same attributes but for those that its text sets by ``setattr`` (3.13+)."""
    if note != STATIC or type(listed) is not tuple or type(noted) is not tuple:
        return False
    missing = set(listed) - set(noted)
    return set(noted) <= set(listed) and not any(type(name) is str and _is_written(name) for name in missing)


def _is_written(name: str) -> bool:
    return name.isidentifier() and name not in _KEPT and unicodedata.normalize("NFKC", name) == name


def _imported(values: Values, arguments: tuple[int, ...], keywords: tuple[str, ...], fromlist: int) -> Call | None:
    """``__import__(name, globals(), None, fromlist, level)``, of which the last four may be left out: no ``fromlist``
    is an empty one, which None is to the builtin."""
    positional = len(arguments) - len(keywords)
    given = dict(zip(("name", "globals", "locals", "fromlist", "level"), arguments[:positional]))
    given.update(zip(keywords, arguments[positional:]))
    name = attribute_name(values, given.get("name", values.none))
    level = given.get("level", values.const(0))
    if name is None or len(given) != len(arguments):
        return None
    if level != values.const(0) and not is_globals(values, given.get("globals", values.none)):
        return None  # what a relative import starts from is in the globals
    nothing = values.const(())
    wanted = given.get("fromlist", nothing)
    return Call(
        (ops.IMPORT_NAME, name), (level, fromlist if wanted == nothing and fromlist == values.none else wanted), 1
    )


def is_globals(values: Values, value: int) -> bool:
    known = values.desc[value]
    return known is not None and known[0:2] == ("op", "globals")


def step(side: Side, other: Side, values: Values, callee: int, arguments: tuple[int, ...]) -> int:
    """The result of a call of ``super`` or ``globals`` that the instruction makes without a call; -1 for others."""
    if other.pc < 0:
        return -1
    op = other.program.instrs[other.pc].op
    if op in _SUPER and len(arguments) == 2 and len(other.stack) > 2 and callee == other.stack[-3]:
        side.program.builtins_named.add("super")
        return values.op(_PARENT, (callee, *arguments))
    if op == ops.IMPORT_NAME and not arguments and values.desc[callee] == ("const", builtins.globals):
        return values.op("globals", ())
    return -1
