"""Matches calls of ``__enter__`` and ``__exit__`` in the recompiled code with the ``with`` operations of the original.

The interpreter looks the methods of a manager up on its type, and binds them; text can only ask the object for them.
Where nothing in the object itself hides its type's methods, and neither look-up runs code, both find the same.  That is
assumed and named (``MANAGER_NOTE``), and that ``__traceback__`` is an exception's own.  Then

    hasattr(type(m), "__enter__")               is a boolean that decides whether BEFORE_WITH raises at once
    m.__exit__, m.__enter__()                   is BEFORE_WITH m where both booleans are true
    exit(type(e), e, e.__traceback__)           is WITH_EXCEPT_START for any callable, as that is all it does
"""

from __future__ import annotations

import builtins

from depyf.decompiler.bytecode import ops
from depyf.decompiler.verify.relation.facts import callee_of, is_exception
from depyf.decompiler.verify.relation.values import Values
from depyf.decompiler.verify.state.proof_state import Pair, Side

ENTERING = {ops.BEFORE_WITH: ("__enter__", "__exit__"), ops.BEFORE_ASYNC_WITH: ("__aenter__", "__aexit__")}


def _at(side: Side) -> str:
    return side.program.instrs[side.pc].op if side.pc >= 0 else ""


def step_call(side: Side, other: Side, values: Values, slots: int, count: int) -> bool:
    """The calls of ``type`` and ``hasattr`` that ask whether something is a manager."""
    at = _at(other)
    if not side.program.side or (at not in ENTERING and at != ops.WITH_EXCEPT_START):
        return False
    stack = side.stack
    base = len(stack) - count - slots
    called = values.desc[callee_of(values, stack, base, slots)[0]]
    if called is None or called[0] != "const":
        return False
    if called[1] is builtins.type and count == 1:
        result = values.op("type of", (stack[-1],))
    elif called[1] is builtins.hasattr and count == 2 and at in ENTERING:
        asked, name = values.desc[stack[-2]], values.desc[stack[-1]]
        if asked is None or asked[0:2] != ("op", "type of") or name is None or name[1] not in ENTERING[at]:
            return False
        result = values.op(f"has {name[1]}", asked[2])
    else:
        return False
    del stack[base:]
    stack.append(result)
    return True


def attribute(pair: Pair, side: Side, other: Side, values: Values, name: str) -> int:
    """The value of ``m.__exit__``, ``m.__enter__`` and ``e.__traceback__``; -1 for any other attribute."""
    if not side.program.side:
        return -1
    at, value = _at(other), side.stack[-1]
    if name == "__traceback__" and at == ops.WITH_EXCEPT_START and is_exception(values, value):
        return values.op("tb of", (value,))
    if at in ENTERING and name in ENTERING[at] and _has(pair, values, value, name) is True:
        return values.op(f"special {name}", (value,))
    return -1


def refuses(pair: Pair, values: Values, op: str, manager: int) -> bool:
    """Whether it is known on this path that entering ``manager`` raises at once."""
    return any(_has(pair, values, manager, name) is False for name in ENTERING[op])


def entered(pair: Pair, values: Values, called: int, arguments: int) -> int:
    """The manager that a call enters, where the original is about to enter one; -1 for any other call."""
    known, at = values.desc[called], _at(pair.a)
    if arguments or at not in ENTERING or known is None or known[0:2] != ("op", f"special {ENTERING[at][0]}"):
        return -1
    manager: int = known[2][0]
    return manager if _has(pair, values, manager, ENTERING[at][1]) is True else -1


def exits(pair: Pair, values: Values, arguments: tuple[int, ...]) -> bool:
    """Whether a call passes an exception the way ``WITH_EXCEPT_START`` does, and the original is about to."""
    if len(arguments) != 3 or _at(pair.a) != ops.WITH_EXCEPT_START:
        return False
    caught = arguments[1]
    return values.op("type of", (caught,)) == arguments[0] and values.op("tb of", (caught,)) == arguments[2]


def asks(values: Values, base: int) -> bool:
    """Whether a boolean to decide is one of those above: what is stored before must not forget the decision."""
    known = values.desc[base] if base >= 0 else None
    return known is not None and known[0] == "op" and known[1].startswith("has ")


def slots_of(pair: Pair, values: Values, manager: int, results: list[int]) -> list[int]:
    """What the original has on its stack after entering a manager that the recompiled code has entered by calls."""
    leave = values.op(f"special {ENTERING[_at(pair.a)][1]}", (manager,))
    return [leave, *[values.method] * (len(results) - 2), results[-1]]


def _has(pair: Pair, values: Values, value: int, name: str) -> bool | None:
    fact = pair.facts.get(values.op(f"has {name}", (value,)))
    return None if fact is None else fact == values.true
