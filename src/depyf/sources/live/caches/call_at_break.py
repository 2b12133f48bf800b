"""The call at which the graph of an entry ends: Dynamo's code makes it as Python, and goes on after it.

Input: the code that Dynamo made.  Output: how it reaches what is called, as torch names a source
(``L['self']._modules['mlp']``), and the line of the program; None where it makes no such call.  Only the code is looked
at: its instructions are followed up to the first jump after its graph, with a name for each value that is reached from
a variable.  The jumps before the graph are Dynamo's own (since torch 2.15 it asks whether it is profiled): both make
the same of the program's values, and the one without a jump is followed.
"""

from __future__ import annotations

import types
from dataclasses import dataclass, replace

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.lower import lower
from depyf.decompiler.bytecode.ops import Instr
from depyf.errors import DepyfError
from depyf.run.global_names import COMPILED_FN, RESUME_FN

_NULL = "NULL"
_RESULT = "RESULT"
_OF_TORCH = "G['__import_torch"
"""How the names begin of what Dynamo calls for itself."""


@dataclass(frozen=True, slots=True)
class CallAtBreak:
    """The last call of the program in an entry's code; not a call of a graph, a resume function or torch."""

    source: str
    """"" where it is not reached from a variable."""
    line: int | None
    returned: bool
    """Its value is what the function returns: nothing is left of it."""


def call_at_break(code: types.CodeType) -> CallAtBreak | None:
    """The call at which the graph of Dynamo's ``code`` ends; None where it makes none."""
    try:
        lowered = lower(CodeUnit.from_code(code))
    except DepyfError:
        return None
    values = _Sources(frozenset(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]))
    instrs = lowered.instrs
    found, at_graph, number = None, any(map(_loads_graph, instrs)), 0
    while number < len(instrs):
        instr = instrs[number]
        if instr.op in ops.JUMPS and (not at_graph or instr.target is None or instr.target <= number):
            break
        called = values.called(instr, lowered.depths[number])
        at_graph = at_graph and not (called is not None and COMPILED_FN.match(_global(called)))
        if instr.op == ops.RETURN and found is not None and values.returns_result:
            return replace(found, returned=True)
        values.run(instr)
        if called is not None and not _is_made(called):
            found = CallAtBreak(called, instr.line, False)
            values.push_result()
        number = instr.target if instr.op == ops.JUMP and instr.target is not None else number + 1
    return found


def _loads_graph(instr: Instr) -> bool:
    return instr.op == ops.LOAD_GLOBAL and bool(COMPILED_FN.match(instr.arg))


def _global(source: str) -> str:
    return source.partition("'")[2].rpartition("'")[0]


def _is_made(source: str) -> bool:
    """Whether it is a global that torch made: a graph, a rest, something of torch."""
    name = _global(source)
    return source.startswith(_OF_TORCH) or bool(COMPILED_FN.match(name) or RESUME_FN.match(name))


class _Sources:
    """The sources of the values on the stack and in variables; "" for those that have none."""

    def __init__(self, parameters: frozenset[str]) -> None:
        self._variables = {name: f"L[{name!r}]" for name in parameters}
        self._stack: list[str] = []

    @property
    def returns_result(self) -> bool:
        """Whether the value on top is that of the program's last call."""
        return bool(self._stack) and self._stack[-1] == _RESULT

    def push_result(self) -> None:
        """The value on top is that of the program's call."""
        self._stack = ["" if name == _RESULT else name for name in self._stack]
        self._stack[-1:] = [_RESULT]

    def called(self, instr: Instr, depth: int) -> str | None:
        """What ``instr`` calls; None where it is no call."""
        self._stack = self._stack[-depth:] if len(self._stack) >= depth > 0 else [""] * depth
        if instr.op == ops.CALL:
            slots: int = instr.arg.slots
            at: int = slots + instr.arg.count
        elif instr.op == ops.CALL_EX:
            slots, keywords = instr.arg
            at = slots + 1 + bool(keywords)
        else:
            return None
        lower_slot = self._stack[-at]
        return self._stack[1 - at] if slots == 2 and lower_slot == _NULL else lower_slot

    def run(self, instr: Instr) -> None:
        op, arg, stack = instr.op, instr.arg, self._stack
        if op == ops.STORE_FAST:
            self._variables[arg] = stack[-1]
        elif op == ops.SWAP:
            stack[-1], stack[-arg] = stack[-arg], stack[-1]
            return
        elif op == ops.COPY:
            stack.append(stack[-arg])
            return
        elif op == ops.ROT:
            stack.insert(len(stack) - arg, stack.pop())
            return
        made = self._made(instr)
        pops, pushes = ops.stack_effect(op, arg)
        del stack[len(stack) - pops :]
        stack += [*made, *[""] * (pushes - len(made))]

    def _made(self, instr: Instr) -> list[str]:
        """The sources of the lowest values that ``instr`` pushes."""
        op, arg, stack = instr.op, instr.arg, self._stack
        if op == ops.NULL:
            return [_NULL]
        if op == ops.LOAD_FAST:
            return [self._variables.get(arg, "")]
        if op == ops.LOAD_DEREF:
            return [f"L[{arg!r}]"]
        if op == ops.LOAD_GLOBAL:
            return [f"G[{arg!r}]"]
        if op == ops.LOAD_CONST and isinstance(arg, (str, int)):
            return [repr(arg)]
        if op in (ops.LOAD_ATTR, ops.LOAD_METHOD) and stack[-1]:
            return [f"{stack[-1]}.{arg}"]
        if op == ops.SUBSCR and stack[-2] and stack[-1]:
            return [f"{stack[-2]}[{stack[-1]}]"]
        return []
