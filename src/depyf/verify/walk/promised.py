"""Operations that are silent because the program that wrote the code promised so (``depyf.generated.contract``).

One promise, one rule; each that was used is named in the verdict.

- A stable global is a constant (``Program`` knows).  So are the attributes of a fixed module and the items of a fixed
  table, and such a constant keeps nothing alive that its module does not.
- The items of what a graph returned are read without an effect and are the same at every reading.
- A function made from cells is an object that has not escaped.
- The guards of the code have read every source it begins with, in an order of their own, right before it runs, as
  often as they liked: that reading has no effect and is repeatable is what the guards themselves rest on.  So up to the
  first event of another kind (``Pair.early``) a read is a value that depends on its operands alone.
- A call of a constant function whose code is ``return None`` takes an empty slot off the stack, and nothing else.
- What ends a profiler's record touches nothing of the program: up to the call of the graph only the order of these calls
  counts (``Side.marks``, compared before that call and wherever control goes on elsewhere).

Constants, outputs and made functions cannot fail; everything else is an event where an exception would be caught, for
there it shows what came before.
"""

from __future__ import annotations

import builtins
from typing import Any

from depyf.bytecode import ops
from depyf.bytecode.host.idle_calls import does_nothing
from depyf.bytecode.lower import Lowered
from depyf.generated.contract import GeneratorContract, looks_up_locals
from depyf.generated.resume.strip import global_names
from depyf.verify.assumptions import (
    FIXED_NOTE,
    GRAPH_NOTE,
    IDLE_NOTE,
    KEYS_NOTE,
    MAKER_NOTE,
    MARK_NOTE,
    READ_NOTE,
    SET_ORDER_NOTE,
)
from depyf.verify.relation.facts import new_fresh
from depyf.verify.relation.values import OUTPUT, Values
from depyf.verify.state.proof_state import Pair, Side
from depyf.verify.walk.by_name import attribute_name
from depyf.verify.walk.observable import Event

GRAPH = "graph"
MARK = "mark"
_READS = frozenset({ops.LOAD_ATTR, ops.LOAD_METHOD, ops.SUBSCR, ops.LOAD_GLOBAL, ops.LOAD_DEREF, ops.IMPORT_NAME})


class Stable:
    """Stands for an object that is never exchanged: the value of a global, an attribute of one, an item of one."""

    __slots__ = ("name", "owner")

    def __init__(self, name: str, owner: Stable | None = None) -> None:
        self.name = name
        self.owner = owner


def stable_globals(promises: GeneratorContract, *sides: Lowered) -> dict[str, Stable]:
    """Stand-ins for the values of the stable globals that the codes mention."""
    if not promises.stable:
        return {}
    names = {name for side in sides for name in side.unit.names if name.startswith(promises.stable)}
    return {name: Stable(name) for name in sorted(names)}


class Promised:
    """The promises of one proof, and which of them it used."""

    def __init__(self, promises: GeneratorContract, values: Values) -> None:
        self.promises = promises
        self.values = values
        self.notes: list[str] = []
        self._known: dict[tuple[Any, ...], int] = {}
        self.wide = False
        """Whether the original makes a dict or set of more than a compiler takes at once, and the keys are plain."""

    def use(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)

    def step(self, pair: Pair, side: Side, pc: int) -> bool:
        """Take the instruction of ``side`` at ``pc`` as a silent step, if a promise makes it one."""
        program = side.program
        reads = self.promises.reads_first and pair.early and program.handler[pc] < 0
        op = program.instrs[pc].op
        arg = program.arg[pc]
        if op == ops.CALL:
            return self._call(pair, side, arg, program.handler[pc] >= 0)
        if op not in _READS:
            return False
        stack = side.stack
        if op == ops.LOAD_GLOBAL or op == ops.LOAD_DEREF:
            if not reads:
                return False
            stack.append(self._read((op, arg, pair.epoch)))
            return True
        if op == ops.IMPORT_NAME:
            if not reads or stack[-2:] != [self.values.const(0), self.values.const(())]:
                return False
            stack[-2:] = [self._read((op, arg))]
            return True
        if op == ops.SUBSCR:
            found = self._item(pair, stack[-2], stack[-1], reads)
            if found < 0:
                return False
            stack[-2:] = [found]
            return True
        found = self._attribute(pair, stack[-1], arg, reads)
        if found < 0:
            return False
        stack[-1] = found
        if op == ops.LOAD_METHOD:
            stack.append(self.values.method)
        return True

    def any_order(self) -> bool:
        """Whether a set filled from a constant may stand for one filled element by element."""
        if self.promises.unordered:
            self.use(SET_ORDER_NOTE)
        return self.promises.unordered

    def any_key(self) -> bool:
        """Whether a key that is no constant may be taken for one that hashes without an effect."""
        if self.wide:
            self.use(KEYS_NOTE)
        return self.wide

    def ended(self, pair: Pair, callee: int) -> None:
        """An event has happened on both sides; all but the beginning of a record end the early part."""
        if callee < 0 or not self._is(callee, self.promises.profiler_enter):
            pair.early = False
        if self._is_graph(callee):
            pair.before_graph = False

    def marks_wait(self, pair: Pair, event: Event) -> bool:
        """Whether the ends of a profiler's record may still be made after an event that both sides stand before."""
        if any(side.pc < 0 or side.program.handler[side.pc] >= 0 for side in (pair.a, pair.b)):
            return False
        if event.key[0] in (ops.CALL, ops.CALL_EX):
            return pair.before_graph and not self._is_graph(event.operands[0])
        return event.key[0] in _READS

    def result_type(self, callee: int) -> str | None:
        """What a call gives, where that was promised."""
        if self._is_graph(callee):
            self.use(GRAPH_NOTE)
            return GRAPH
        if self._is(callee, self.promises.profiler_enter):
            self.use(MARK_NOTE)
            return MARK
        return None

    def _is_graph(self, value: int) -> bool:
        stable = self._stable(value) if value >= 0 else None
        return stable is not None and stable.owner is None and stable.name.startswith(self.promises.graphs or "\0")

    def _stable(self, value: int) -> Stable | None:
        known = self.values.desc[value]
        return known[1] if known is not None and known[0] == "const" and type(known[1]) is Stable else None

    def _is(self, value: int, names: tuple[str, ...]) -> bool:
        stable = self._stable(value) if names else None
        return stable is not None and stable.owner is not None and stable.name in names

    def _constant(self, owner: Stable, name: str) -> int:
        key = ("constant", owner, name)
        found = self._known.get(key)
        if found is None:
            self.use(FIXED_NOTE)
            found = self._known[key] = self.values.const(Stable(name, owner))
        return found

    def _read(self, key: tuple[Any, ...]) -> int:
        found = self._known.get(key)
        if found is None:
            self.use(READ_NOTE)
            found = self._known[key] = self.values.new()
        return found

    def _attribute(self, pair: Pair, value: int, name: str, reads: bool) -> int:
        stable = self._stable(value)
        if stable is not None and stable.owner is None and stable.name.startswith(self.promises.fixed or "\0"):
            return self._constant(stable, name)
        if reads and value not in pair.fresh:
            return self._read((ops.LOAD_ATTR, value, name))
        return -1

    def _item(self, pair: Pair, container: int, key: int, reads: bool) -> int:
        known = self.values.desc[key]
        constant = known[1] if known is not None and known[0] == "const" else None
        stable = self._stable(container)
        if stable is not None and stable.owner is None and stable.name.startswith(self.promises.tables or "\0"):
            return self._constant(stable, constant) if type(constant) is str else -1
        if self.values.desc[container] == ("type", GRAPH) and type(constant) is int:
            return self.values.op(OUTPUT, (container, key))
        if reads and not {container, key} & pair.fresh.keys():
            return self._read((ops.SUBSCR, container, key))
        return -1

    def _call(self, pair: Pair, side: Side, arg: ops.CallShape, protected: bool) -> bool:
        slots, count, keywords = arg
        stack, values = side.stack, self.values
        at = len(stack) - count - slots
        if keywords or at < 0:
            return False
        callee = stack[at + 1] if slots == 2 and stack[at] == values.null else stack[at]
        if slots == 2 and callee == stack[at] and stack[at + 1] not in (values.null, values.method):
            return False
        if count == 0:
            return self._idle(side, at, callee)
        if side.program.side and self._reads_by_name(pair, side, at, callee, count, protected):
            return True
        stable = self._stable(callee)
        if stable is None:
            return False
        arguments = tuple(stack[len(stack) - count :])
        if stable.owner is None:
            if count != 1 or not stable.name.startswith(self.promises.closure_factories or "\0"):
                return False
            if not self._cells(arguments[0]):
                return False
            self.use(MAKER_NOTE)
            result = new_fresh(pair, values, ("function", "resumed"), (callee, arguments[0]))
        elif protected:
            return False
        elif stable.name in self.promises.profiler_exit and pair.before_graph:
            self.use(MARK_NOTE)
            side.marks = (*side.marks, (callee, *arguments))
            result = values.none
        elif self._only_reads(stable.name, count) and pair.early and self.promises.reads_first:
            result = self._read((ops.CALL, callee, *arguments))
        else:
            return False
        del stack[at:]
        stack.append(result)
        return True

    def _reads_by_name(self, pair: Pair, side: Side, at: int, callee: int, count: int, protected: bool) -> bool:
        """``getattr(x, "0")`` and ``__import__("m")``, where the instruction would be such a read."""
        stack, called = side.stack, self.values.desc[callee]
        reads = self.promises.reads_first and pair.early and not protected
        name = attribute_name(self.values, stack[-1])
        if name is None or called is None or called[0] != "const":
            return False
        if called[1] is builtins.getattr and count == 2:
            found = self._attribute(pair, stack[-2], name, reads)
        elif called[1] is builtins.__import__ and count == 1 and reads:
            found = self._read((ops.IMPORT_NAME, name))
        else:
            return False
        if found >= 0:
            stack[at:] = [found]
        return found >= 0

    def _idle(self, side: Side, at: int, callee: int) -> bool:
        known = self.values.desc[callee]
        if known is None or known[0] != "const" or not does_nothing(known[1]):
            return False
        self.use(IDLE_NOTE)
        side.stack[at:] = [self.values.none]
        return True

    def _only_reads(self, name: str, count: int) -> bool:
        return name in self.promises.pure_calls or (count == 1 and name in self.promises.readers)

    def _cells(self, value: int) -> bool:
        known = self.values.desc[value]
        if known is None or known[0:2] != ("op", "tuple"):
            return False
        parts = [self.values.desc[item] for item in known[2]]
        return bool(parts) and all(part is not None and part[0:2] == ("op", "cell") for part in parts)


_HIDDEN = frozenset({ops.LOAD_FAST_CLEAR, ops.RESTORE_FAST})


def locals_of(code: Lowered) -> frozenset[str]:
    """The local variables that the instructions of a code object mention, and its parameters."""
    found = {str(instr.arg) for instr in code.instrs if instr.op in _LOCALS or instr.op in _HIDDEN}
    return frozenset(found) | frozenset(code.unit.params)


def added_variables(code: Lowered, promises: GeneratorContract) -> frozenset[str] | None:
    """The promised variables that only plain instructions mention; None where something may look them up by name."""
    variables = promises.variables
    if variables is None or looks_up_locals(global_names(code), code.unit.consts):
        return None
    hidden = {str(instr.arg) for instr in code.instrs if instr.op in _HIDDEN}
    return frozenset(variables & locals_of(code)) - hidden - frozenset(code.unit.params)


_LOCALS = frozenset({ops.LOAD_FAST, ops.STORE_FAST, ops.DELETE_FAST})
