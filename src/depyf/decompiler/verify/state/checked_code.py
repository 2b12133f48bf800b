"""One side of a proof: lowered code with everything that can be looked up precomputed per instruction.

Input: ``Lowered``.  Output: parallel lists indexed by instruction, the join points, and two small data flows: which
user locals are surely bound before each instruction, and which temporaries are still read after it.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Mapping
from types import BuiltinFunctionType, MappingProxyType
from typing import Any

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.lower import Lowered
from depyf.decompiler.bytecode.variables.spelling import exact
from depyf.decompiler.verify.relation.values import Values
from depyf.decompiler.verify.state.type_parameter_names import type_parameter_names
from depyf.decompiler.verify.state.unwinding import SAVED, dropped_records
from depyf.decompiler.verify.walk import dispatch

NO_RAISE = ops.SILENT
CELLS = {ops.LOAD_DEREF, ops.STORE_DEREF, ops.DELETE_DEREF, ops.LOAD_CLASSDEREF, ops.LOAD_FROM_DICT_OR_DEREF}
LOADS = ops.LOCALS
VARIABLES = LOADS | CELLS | {ops.LOAD_CLOSURE, ops.MAKE_CELL}
NAMESPACE = frozenset({ops.LOAD_NAME, ops.STORE_NAME, ops.DELETE_NAME})
MODULE_NAMES = NAMESPACE | {ops.LOAD_GLOBAL, ops.STORE_GLOBAL, ops.DELETE_GLOBAL}
TEMP_KINDS = {
    ops.LOAD_FAST: dispatch.LOAD_TEMP,
    ops.STORE_FAST: dispatch.STORE_TEMP,
    ops.DELETE_FAST: dispatch.DELETE_TEMP,
    ops.LOAD_NAME: dispatch.LOAD_TEMP,
    ops.STORE_NAME: dispatch.STORE_TEMP,
    ops.DELETE_NAME: dispatch.DELETE_TEMP,
}
ORIGINAL = "\0"
"""The prefix for temporaries of the original: variables that the program added to the code it wrote."""
BRANCH_KINDS = frozenset(dispatch.BRANCHES.values())
ASKS = frozenset({ops.WITH_EXCEPT_START, ops.EXC_MATCH})
_COMMON = (AssertionError, NotImplementedError)
"""The constants that code can load without a namespace, while text has to name them."""
EMPTY: frozenset[str] = frozenset()
TERMINATING = ops.TERMINATORS


class CheckedCode:
    """Precomputed arrays of one code object; ``side`` is 0 for the original and 1 for the recompiled code."""

    def __init__(
        self,
        lowered: Lowered,
        values: Values,
        side: int,
        is_temp: Callable[[str], bool] | None = None,
        renames: Mapping[str, str] | None = None,
        bindings: Mapping[str, Any] | None = None,
        stand_ins: Mapping[str, str] | None = None,
        builtins: Mapping[str, Any] = MappingProxyType({}),
        passed: frozenset[int] = frozenset(),
        watched: Iterable[int] = (),
    ) -> None:
        self.builtins = builtins
        self.passed = passed
        """The instructions that are passed over."""
        self.builtins_named: set[str] = set()
        """The builtins that the text calls by name where the original has an instruction, or the object itself."""
        self.lowered = lowered
        self.unit = lowered.unit
        self.instrs = lowered.instrs
        self.handlers = lowered.handlers
        self.side = side
        self.name = "recompiled" if side else "original"
        count = len(self.instrs)
        self.count = count
        self.kind: list[int] = []
        self.arg: list[Any] = []
        self.key: list[tuple[str, Any]] = []
        self.target: list[int] = [instr.target for instr in self.instrs]
        self.handler: list[int] = [instr.handler for instr in self.instrs]
        self.temps: set[str] = set()
        self.flags: set[str] = set()
        self.settings: frozenset[int] = frozenset()
        """What flags are set to: the constants that the code loads.  Others, which steps make of these, have no end."""
        self.namespace_temps = False
        self.has_stand_ins = False
        renames = renames or {}
        self._fill(values, is_temp, renames, bindings or {}, stand_ins or {})
        for pc in passed:
            self.kind[pc], self.target[pc] = dispatch.JUMP, pc + 1
        for pc in watched:  # ``Promised`` takes these steps
            self.kind[pc] = dispatch.EVENT
        self.params = [renames.get(p, p) for p in self.unit.params]
        marked = "" if side else ORIGINAL
        self.variables = [marked + n if marked + n in self.temps else renames.get(n, n) for n in self.unit.varnames]
        """The names of local variables in their order, as ``arg`` has them."""
        self.numbers = {name: number for number, name in enumerate(self.variables)}
        self.join = self._joins()
        self._bound: list[int] | None = None
        self._bit: dict[str, int] = {}
        self.records = dropped_records(lowered)
        self.block_stack = any(SAVED in handler.pushes for handler in self.handlers)
        """Whether unwinding puts such records back by itself (until 3.10)."""
        self.asking = {
            handler.target
            for handler in self.handlers
            if any(i.op in ASKS for i in self.instrs[handler.target : handler.target + 5])
        }
        """The handlers that begin by calling the exit of a manager, or by asking which exception it is."""
        self.again: dict[int, bool] = {}
        """Where it raises, by ``raise e``, what the other code lets go on; whether that may be another exception than
        the handled one."""
        self.forgets = False
        """Whether it raises an exception while a temporary holds an object that nothing reads any more."""
        self.formats = False
        """Whether it formats a string that was converted or formatted before."""
        self.keeps = False
        """Whether it is in the body of a handler that the other code has left by raising."""
        self.restores = False
        """Whether unwinding has put back a record that the code drops."""
        self._live: list[int] | None = None
        self._live_sets: dict[int, frozenset[str]] = {}
        self._temp_bit: dict[str, int] = {}
        self.shapes: dict[int, tuple[int, int, int]] = {}
        unbinds = {i.op for i in self.instrs} & {ops.DELETE_FAST, ops.LOAD_FAST_CLEAR}
        self.always: frozenset[str] = EMPTY if unbinds else frozenset(self.params)
        """Parameters that are bound all the time."""
        if self.temps and side:
            self._find_flags(values)

    def _fill(
        self,
        values: Values,
        is_temp: Callable[[str], bool] | None,
        renames: Mapping[str, str],
        bindings: Mapping[str, Any],
        stand_ins: Mapping[str, str],
    ) -> None:
        kind_of, args, keys = self.kind, self.arg, self.key
        type_names = type_parameter_names(self.instrs)
        for at, instr in enumerate(self.instrs):
            op, arg = instr.op, instr.arg
            kind = dispatch.KINDS.get(op, dispatch.EVENT)
            if at in type_names and (arg in renames if self.side else exact(arg) is None):
                arg = _constant(values, renames.get(type_names[at], type_names[at]))
                self.has_stand_ins = True
            elif op == ops.LOAD_CONST:
                if is_builtin(arg):
                    self.builtins_named.add(arg.__name__)
                arg = values.new(("const", arg)) if type(arg) is CodeUnit else _constant(values, arg)
            elif op in TEMP_KINDS and is_temp is not None and is_temp(arg):
                kind = TEMP_KINDS[op]
                arg = arg if self.side else ORIGINAL + arg
                self.temps.add(arg)
                self.namespace_temps = self.namespace_temps or op in NAMESPACE
            elif op in VARIABLES:
                arg = renames.get(arg, arg)
            elif op in (ops.LOAD_GLOBAL, ops.LOAD_NAME) and arg in bindings:
                kind = dispatch.LOAD_CONST
                if is_builtin(bindings[arg]):
                    self.builtins_named.add(bindings[arg].__name__)
                arg = _constant(values, bindings[arg])
            elif op in (ops.LOAD_GLOBAL, ops.LOAD_NAME) and arg in self.builtins:
                kind = dispatch.FOLD
            elif op in MODULE_NAMES and arg in stand_ins:
                arg = stand_ins[arg]
                self.has_stand_ins = True
            elif op == ops.BRANCH:
                kind = dispatch.BRANCHES[arg]
            kind_of.append(kind)
            args.append(arg)
            keys.append((op, arg))

    def _joins(self) -> bytearray:
        """For each instruction, 1 if control reaches it on two edges or more."""
        seen = bytearray(self.count + 1)
        join = bytearray(self.count + 1)
        seen[0] = 1
        falls = True
        terminators = ops.TERMINATORS
        for i, instr in enumerate(self.instrs):
            if falls and i:
                if seen[i]:
                    join[i] = 1
                seen[i] = 1
            target = instr.target
            if target >= 0:
                if seen[target]:
                    join[target] = 1
                seen[target] = 1
            falls = instr.op not in terminators
        for handler in self.handlers:
            join[handler.target] = 1
        return join

    def _find_flags(self, values: Values) -> None:
        """Temporaries that are branched on or compared: their constants select paths (flags, dispatch variables)."""
        kind = self.kind
        for i in range(self.count - 1):
            if kind[i] != dispatch.LOAD_TEMP:
                continue
            follow = kind[i + 1]
            tested = follow in BRANCH_KINDS or self.instrs[i + 1].op == ops.UNARY
            if not tested and follow == dispatch.LOAD_CONST and i + 2 < self.count:
                tested = self.instrs[i + 2].op in (ops.COMPARE, ops.IS)
            if tested:
                self.flags.add(self.arg[i])
        if self.flags:
            loaded = [arg for kind, arg in zip(kind, self.arg) if kind == dispatch.LOAD_CONST]
            self.settings = frozenset([*loaded, values.true, values.false, values.none])

    def raises(self, pc: int) -> bool:
        """Whether the instruction may leave through its handler."""
        return self.instrs[pc].op not in NO_RAISE

    def unwound(self, pc: int, stack: list[int], cur: int) -> int:
        """The exception being handled once that of instruction ``pc`` has left its place, ``cur`` before."""
        at = self.records.get(pc, -1)
        if at < 0 or stack[at] == cur:
            return cur
        self.restores = self.restores or not self.block_stack
        return stack[at]

    def surely_bound(self, pc: int, name: str) -> bool:
        """Whether the user local ``name`` is bound whenever control is just before ``pc``, by this side's data flow."""
        if pc < 0:
            return False
        if self._bound is None:
            self._bound = self._bound_bits()
        bit = self._bit.get(name)
        return bit is not None and bool(self._bound[pc] >> bit & 1)

    def _bound_bits(self) -> list[int]:
        """Forward must-analysis; -1 (everything) where control never comes."""
        bit = self._bit
        for instr, arg in zip(self.instrs, self.arg):
            if instr.op in LOADS and arg not in bit:
                bit[arg] = len(bit)
        params = 0
        for name in self.params:
            if name in bit:
                params |= 1 << bit[name]
        bound = [-1] * self.count
        entered = [False] * self.count
        at_handler = [-1] * len(self.handlers)
        work = [(0, params)]
        instrs, handlers, silent = self.instrs, self.handlers, NO_RAISE
        while work:
            pc, bits = work.pop()
            while True:
                if entered[pc]:
                    bits &= bound[pc]
                    if bits == bound[pc]:
                        break
                entered[pc] = True
                bound[pc] = bits
                instr = instrs[pc]
                op, target, handler = instr.op, instr.target, instr.handler
                if handler >= 0 and op not in silent:
                    merged = at_handler[handler] & bits
                    if merged != at_handler[handler] or not entered[handlers[handler].target]:
                        at_handler[handler] = merged
                        work.append((handlers[handler].target, merged))
                if op in LOADS and pc not in self.passed:
                    mask = 1 << bit[self.arg[pc]]
                    if op in (ops.STORE_FAST, ops.LOAD_FAST):
                        bits |= mask
                    elif op != ops.RESTORE_FAST:
                        bits &= ~mask
                if op in TERMINATING:
                    if op == ops.JUMP:
                        pc = target
                        continue
                    break
                if target >= 0:
                    work.append((target, bits))
                pc += 1
        return bound

    def live_temps(self, pc: int) -> frozenset[str]:
        """The temporaries that may be read or deleted at ``pc`` or later before they are written."""
        if not self.temps or pc < 0:
            return EMPTY
        if self._live is None:
            self._live = self._liveness()
        bits = self._live[pc]
        found = self._live_sets.get(bits)
        if found is None:
            found = self._live_sets[bits] = frozenset(name for name in self.temps if bits & self._temp_bit[name])
        return found

    def _liveness(self) -> list[int]:
        """Per instruction the temporaries that are live, as bits: sets take as long to compare as they are large."""
        bit = self._temp_bit = {name: 1 << number for number, name in enumerate(self.temps)}
        live = [0] * self.count
        handlers = self.handlers
        changed = True
        while changed:
            changed = False
            after = 0
            for pc in range(self.count - 1, -1, -1):
                instr = self.instrs[pc]
                op, target, handler = instr.op, instr.target, instr.handler
                out = after if op not in TERMINATING else 0
                if target >= 0:
                    out |= live[target]
                kind = self.kind[pc]
                if kind == dispatch.LOAD_TEMP or kind == dispatch.DELETE_TEMP:
                    out |= bit[self.arg[pc]]
                elif kind == dispatch.STORE_TEMP:
                    out &= ~bit[self.arg[pc]]
                if handler >= 0:
                    out |= live[handlers[handler].target]
                if out != live[pc]:
                    live[pc] = out
                    changed = True
                after = out
        return live

    def describe(self, pc: int) -> str:
        """One instruction for a message: operation, argument, byte offset and line."""
        if pc < 0:
            return "leaving the frame with an exception"
        instr = self.instrs[pc]
        op, arg, line = instr.op, instr.arg, instr.line
        if type(arg) is CodeUnit:
            shown = f"<code {arg.name}>"
        elif arg is None and op != ops.LOAD_CONST:
            shown = ""
        elif op == ops.CALL:
            shown = f"{arg.count} args" + (f", keywords {', '.join(arg.keywords)}" if arg.keywords else "")
        elif isinstance(arg, (str, int, tuple, float, bytes, type(None))):
            shown = repr(arg) if op == ops.LOAD_CONST else str(arg)
        else:
            shown = f"<{type(arg).__name__}>"
        if len(shown) > 60:
            shown = shown[:57] + "..."
        where = f"offset {instr.offset}" + (f", line {line}" if line is not None else "")
        return f"{op}{' ' + shown if shown else ''} ({where})"


def is_builtin(value: Any) -> bool:
    """Whether ``value`` is a function or type of the module ``builtins``, which text calls by its name."""
    if not isinstance(value, (BuiltinFunctionType, type)):
        return False
    return getattr(builtins, value.__name__, None) is value


def _constant(values: Values, constant: Any) -> int:
    if any(constant is known for known in _COMMON):
        return values.op("common", (constant.__name__,))
    return values.const(constant)
