"""Operations that are silent under the contract of the program that wrote the code
(``depyf.decompiler.generated.contract``).

One promise, one rule; each that was used is named in the verdict.

- A stable global is a constant (``Program`` knows).  So are the attributes of a fixed module and the items of a fixed
  table, and such a constant keeps nothing alive that its module does not.
- The items of what a graph returned are read without an effect and are the same at every reading.
- A function made from cells is an object that has not escaped.
- The guards of the code have read every source it begins with, in another order, right before it runs, as
  often as they liked: that reading has no effect and is repeatable is what the guards themselves rest on.  So up to the
  first event of another kind (``Pair.early``) a read is a value that depends on its operands alone.
- A call of a constant function whose code is ``return None`` takes an empty slot off the stack, and nothing else.
- What ends a profiler's record touches nothing of the program: up to the call of the graph only the order of these
  calls counts (``Side.marks``, compared before that call and wherever control goes on elsewhere).

Constants, outputs and made functions cannot fail; everything else is an event where an exception would be caught, for
there it shows what came before.
"""

from __future__ import annotations

import builtins
from typing import Any

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.host.idle_calls import does_nothing
from depyf.decompiler.bytecode.lower import Lowered
from depyf.decompiler.generated.contract import GeneratorContract
from depyf.decompiler.verify.assumptions import (
    ASSIGNED_NOTE,
    CONTAINERS_NOTE,
    FIXED_NOTE,
    FUNCTIONS_NOTE,
    GRAPH_NOTE,
    IDLE_NOTE,
    KEYS_NOTE,
    LISTS_NOTE,
    MAKER_NOTE,
    MARK_NOTE,
    READ_NOTE,
    SET_ORDER_NOTE,
    STRINGS_NOTE,
)
from depyf.decompiler.verify.promises.handed_on import STRING, UNPACKING, HandedOn, last_item_of, popped_list
from depyf.decompiler.verify.promises.passed_over import shows_locals
from depyf.decompiler.verify.relation.facts import DICT, LIST, SET, new_fresh
from depyf.decompiler.verify.relation.values import OUTPUT, Values
from depyf.decompiler.verify.state.checked_code import ORIGINAL
from depyf.decompiler.verify.state.proof_state import Pair, Side
from depyf.decompiler.verify.walk.by_name import attribute_name
from depyf.decompiler.verify.walk.observable import Event

GRAPH = "graph"
MARK = "mark"
_READS = frozenset({ops.LOAD_ATTR, ops.LOAD_METHOD, ops.SUBSCR, ops.LOAD_GLOBAL, ops.LOAD_DEREF, ops.IMPORT_NAME})


_HANDED_ON = UNPACKING.keys() | {
    ops.LOAD_FAST, ops.LOAD_METHOD, ops.SUBSCR, ops.STORE_SUBSCR, ops.DELETE_SUBSCR, ops.FORMAT, ops.UNPACK_SEQUENCE,
}  # fmt: skip


class Stable:
    """An object that is never rebound: the value of a global, or an attribute or item of one."""

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
        self.handed = HandedOn()
        self.kinds: dict[int, tuple[object, ...]] = {}
        """The strings and containers that the original has loaded."""
        self.wide = False
        """Whether the original makes a dict or set of more than a compiler takes at once, and the keys are plain."""
        self.one_by_one = False
        """Whether a compiler adds the constants of such a set one by one."""

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
        if op in _HANDED_ON:
            taken = self._of_handed_on(pair, side, pc)
            if taken is not None:
                return taken
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

    def _of_handed_on(self, pair: Pair, side: Side, pc: int) -> bool | None:
        """Whether the step is taken by a rule of ``promises.handed_on``; None where there is none for it."""
        program = side.program
        return self._in_text(pair, side, pc) if program.side else self._in_original(pair, side, pc)

    def _in_original(self, pair: Pair, side: Side, pc: int) -> bool | None:
        stack, instrs, handed = side.stack, side.program.instrs, self.handed
        op = instrs[pc].op
        if op == ops.LOAD_FAST:
            return self._load(pair, side, pc) if pc in handed.loads else None
        if op == ops.SUBSCR:
            if pc in handed.readings:
                return self._take(pair, side, pc)
            return False if last_item_of(instrs, pc) in handed.lists else None
        if op == ops.STORE_SUBSCR and pc in handed.clearings:
            del stack[-3:]
            return True
        if op == ops.DELETE_SUBSCR and pair.owed and last_item_of(instrs, pc) == pair.owed:
            self.use(LISTS_NOTE)
            pair.owed = ""
            del stack[-2:]
            return True
        return None

    def _in_text(self, pair: Pair, side: Side, pc: int) -> bool | None:
        stack, instrs, kinds = side.stack, side.program.instrs, self.kinds
        op, arg = instrs[pc].op, instrs[pc].arg
        if op == ops.LOAD_METHOD:
            return False if popped_list(instrs, pc) in self.handed.lists else None
        if op == ops.SUBSCR:
            if last_item_of(instrs, pc) in self.handed.lists:
                return False
            key = self._part(kinds.get(stack[-2], ()), stack[-1])
            if key is None:
                return None
            self.use(FUNCTIONS_NOTE)
            stack[-2:] = [self._item_of(stack[-2], key)]
            return True
        kind = kinds.get(stack[-1]) if stack else None
        if kind is None:
            return None
        if op == ops.FORMAT and kind == STRING and arg == ("", False):
            self.use(STRINGS_NOTE)
            return True
        if op == ops.UNPACK_SEQUENCE and kind == ("frame", arg):
            value = stack.pop()
            stack.extend(self._item_of(value, index) for index in reversed(range(arg)))
            return True
        if UNPACKING.get(op) != kind or arg != 1:
            return None
        inside = pair.fresh.get(stack[-2])
        if inside is None or inside[0] != kind or len(inside[1]) > self.values.tracked:
            return None
        pair.fresh[stack[-2]] = (kind, (*inside[1], *self._items(kind, stack[-1])))
        stack.pop()
        return True

    def _load(self, pair: Pair, side: Side, pc: int) -> bool:
        """The original loads a value that it received."""
        values, name = self.values, side.program.arg[pc]
        value = pair.temps.get(name) if name[0] == ORIGINAL else side.dirty.get(name, pair.loc.get(name))
        if value is None:
            if name[0] == ORIGINAL or not side.program.surely_bound(pc, name):
                return False
            value = values.new()
            pair.bind(name, value)
        known = values.desc[value]
        if value == values.unbound or known is not None and known[0] in ("maybe", "mark"):
            return False
        side.stack.append(self._as_handed(pair, side, pc, value))
        return True

    def enter(self, pair: Pair) -> None:
        """At the beginning: treat the original as if it had unpacked the list of its frame's values."""
        readings = self.handed.readings
        if not readings:
            return
        self.use(LISTS_NOTE)
        frame = self.values.new()
        pair.bind(self.handed.frame, frame)
        self.kinds[frame] = ("frame", len(readings))
        for index, variable in enumerate(readings.values()):
            self._set(pair, pair.a, variable, self._item_of(frame, index))

    def _take(self, pair: Pair, side: Side, pc: int) -> bool:
        """The original takes one of the values of a frame off the list of them, which its variable has already."""
        index = self.values.constants((side.stack[-1],))
        if index is None or self.kinds.get(side.stack[-2], ())[:1] != ("frame",):
            return False
        value = self._item_of(side.stack[-2], index[0])
        del side.stack[-2:]
        if side.program.instrs[pc + 1].op == ops.STORE_FAST:
            side.pc = pc + 2
        else:
            side.stack.append(self._as_handed(pair, side, pc, value))
        return True

    def _as_handed(self, pair: Pair, side: Side, pc: int, value: int) -> int:
        """``value``, loaded at ``pc``, with what is assumed of it."""
        kind, values = self.handed.loads.get(pc), self.values
        if kind is None:
            return value
        if kind[0] == "early":
            self.use(ASSIGNED_NOTE)
            self._set(pair, side, str(kind[1]), value)
            return value
        if kind[0] == "const":
            self.use(FUNCTIONS_NOTE)
            return values.new(("const", kind[1])) if type(kind[1]) is CodeUnit else values.const(kind[1])
        self.kinds[value] = kind
        if kind == STRING:
            return value
        if kind in (LIST, SET, DICT):
            self.use(CONTAINERS_NOTE)
            return new_fresh(pair, values, kind, self._items(kind, value))
        self.use(FUNCTIONS_NOTE)
        if kind[0] == "tuple":
            size: int = kind[1]  # type: ignore[assignment]
            return values.tuple_of(tuple([self._item_of(value, index) for index in range(size)]))
        places = [(key, 2 * at + 1 if kind[0] == "pairs" else key) for at, key in enumerate(kind[1:])]
        items = tuple([item for key, place in places for item in (values.const(key), self._item_of(value, place))])
        return values.tuple_of(items) if kind[0] == "pairs" else new_fresh(pair, values, DICT, items)

    def _part(self, kind: tuple[object, ...], key: int) -> object:
        """The constant ``key``, where such a tuple or dict has an item of that; else None."""
        constant = self.values.constants((key,)) if kind else None
        if constant is None:
            return None
        (found,) = constant
        if kind[0] == "keyed":
            return found if type(found) is str and found in kind[1:] else None
        size = kind[1] if kind[0] == "tuple" else 2 * (len(kind) - 1) if kind[0] == "pairs" else 0
        return found if type(found) is int and 0 <= found < size else None  # type: ignore[operator]

    def _item_of(self, value: int, key: object) -> int:
        found = self._known.get(("item", value, key))
        if found is None:
            found = self._known["item", value, key] = self.values.new()
        return found

    def _set(self, pair: Pair, side: Side, name: str, value: int) -> None:
        """Treat the original as if it had set a variable."""
        hidden = ORIGINAL + name in side.program.temps
        before = pair.temps.get(ORIGINAL + name) if hidden else side.dirty.get(name, pair.loc.get(name))
        if before is not None:
            side.gone.append(before)
        if hidden:
            pair.temps[ORIGINAL + name] = value
        else:
            side.dirty[name] = value

    def changed(self, pair: Pair, pc: int) -> None:
        """Both sides have done what the original does at ``pc``: where that changes in place what it was handed on, a
        variable has it."""
        if pc in self.handed.late:
            self.use(ASSIGNED_NOTE)
            self._set(pair, pair.a, self.handed.late[pc], pair.a.stack[-1])

    def _items(self, kind: tuple[object, ...], container: int) -> tuple[int, ...]:
        """All that is in ``container``; a dict has keys and values."""
        return (self.values.op("splat", (container,)),) * (2 if kind == DICT else 1)

    def pops(self, pair: Pair, side: Side) -> bool:
        """Whether ``side``, the text, stands before a ``pop`` of the list whose last item the original takes next."""
        name = popped_list(side.program.instrs, side.pc)
        if name not in self.handed.lists or not side.program.side or pair.a.pc < 0:
            return False
        instrs = pair.a.program.instrs
        return instrs[pair.a.pc].op == ops.SUBSCR and last_item_of(instrs, pair.a.pc) == name

    def any_order(self) -> bool:
        """Whether a set filled from a constant may replace one filled element by element."""
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
        """The type of a call's result, where the contract gives it."""
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
    if variables is None or shows_locals(code):
        return None
    hidden = {str(instr.arg) for instr in code.instrs if instr.op in _HIDDEN}
    return frozenset(variables & locals_of(code)) - hidden - frozenset(code.unit.params)


_LOCALS = frozenset({ops.LOAD_FAST, ops.STORE_FAST, ops.DELETE_FAST})
