"""Restores a ``def`` whose defaults or annotations are passed on: ``def f(a, b=1, *, c=g(x))`` split after the call of
``g``.

No source passes a tuple of defaults as a whole.  Its length is read from the code before the break.  torch leaves that
code in the resume function, in front of the place to resume at, where nothing reaches it::

    BUILD_TUPLE 2; ...; | break | LOAD_FAST S; ...; MAKE_FUNCTION defaults    ->    LOAD_FAST S; LOAD_CONST 0; SUBSCR;
    ...; BUILD_TUPLE 2 LOAD_CONST 'c'; ...; | break | LOAD_FAST S; ...; BUILD_MAP 1              ->    LOAD_CONST 'c';
    ...; BUILD_MAP 1

The function's defaults are another tuple then, and its keyword defaults another dict; only code that kept the first
could tell.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from depyf.decompiler.bytecode import ops, prologue
from depyf.decompiler.bytecode.decode import decode
from depyf.decompiler.bytecode.edits.origins import Origins, origins, read_once
from depyf.decompiler.bytecode.edits.splice import Steps, inserted
from depyf.decompiler.bytecode.lower import Lowered, lower
from depyf.decompiler.bytecode.versions import spec_for
from depyf.errors import BytecodeError

_ATTRIBUTES = ("defaults", "kwdefaults", "annotations")
_MAKING = frozenset({ops.LOAD_CONST, ops.BUILD_TUPLE, ops.BUILD_MAP, ops.BUILD_CONST_KEY_MAP})
_JUMPS = ("JUMP_FORWARD", "JUMP_ABSOLUTE")


def with_functions_made(lowered: Lowered) -> Lowered:
    """``lowered`` with such parts of functions written out where they are loaded; itself where there are none."""
    stacks = origins(lowered, _MAKING) if _makes_functions(lowered) else {}
    wanted = dict(_handed_on(lowered, stacks)) if stacks else {}
    before = _before_the_break(lowered) if wanted else None
    if before is None:
        return lowered
    earlier = _Earlier(before)
    around: dict[int, tuple[Steps, Steps]] = {}
    constants: dict[int, object] = {}
    for load, (at, slot, name) in wanted.items():
        made = earlier.made(lowered.instrs[at], len(stacks[at]) - slot)
        if made < 0:
            continue
        if before.instrs[made].op == ops.LOAD_CONST:
            constants[load] = before.instrs[made].arg
        else:
            steps = earlier.parts(made, str(lowered.instrs[load].arg), name)
            around.update({load: steps} if steps is not None else {})
    if constants:
        changed = (
            replace(i, op=ops.LOAD_CONST, arg=constants[at]) if at in constants else i
            for at, i in enumerate(lowered.instrs)
        )
        lowered = lowered._replace(instrs=tuple(changed))
    return inserted(lowered, around) if around else lowered


def _makes_functions(lowered: Lowered) -> bool:
    return any(instr.op in (ops.MAKE_FUNCTION, ops.SET_FUNCTION_ATTRIBUTE) for instr in lowered.instrs)


def _handed_on(lowered: Lowered, stacks: dict[int, Origins]) -> Iterator[tuple[int, tuple[int, int, str]]]:
    """Loads of parameters that are such a part as a whole, or a key of one, each with what takes it, and from which
    slot."""
    alone = read_once(lowered)
    for at, stack in stacks.items():
        for slot, name in _attribute_slots(lowered.instrs[at], len(stack)):
            for place in stack[slot]:
                if place in alone:
                    yield place, (at, slot, name)
                elif place >= 0 and name != "defaults":
                    for key in _key_slots(lowered.instrs[place], len(stacks[place])):
                        for load in stacks[place][key] & alone:
                            yield load, (place, key, name)


def _attribute_slots(instr: ops.Instr, depth: int) -> Iterator[tuple[int, str]]:
    if instr.op == ops.MAKE_FUNCTION:
        names = instr.arg
    elif instr.op == ops.SET_FUNCTION_ATTRIBUTE:
        names = (instr.arg,)
    else:
        return
    for place, name in enumerate(names):
        if name in _ATTRIBUTES:
            yield depth - 1 - len(names) + place, name


def _key_slots(instr: ops.Instr, depth: int) -> range:
    """Where the keys of a dict are on the stack, or the names in a tuple of annotations."""
    size = {ops.BUILD_MAP: 2, ops.BUILD_TUPLE: 1}.get(instr.op, 0)
    return range(depth - size * instr.arg, depth, 2) if size else range(0)


def _before_the_break(lowered: Lowered) -> Lowered | None:
    """The code as it was before torch put a way to the place to resume at in front of it; None if it is not to be
    read."""
    unit = lowered.unit
    spec = spec_for(unit.version)
    raw = decode(unit, spec)
    ways = (at for at, name in enumerate(raw.names) if name in _JUMPS and raw.targets[at] > at)
    way = next(ways, len(raw.names))
    first = prologue.end(raw, way + 1)  # what the cells of the user's function hold comes in free variables now
    start = next((offset for offset, at in raw.index_at.items() if at == first), 0)
    head = raw.offsets[prologue.length(raw)] if unit.version >= prologue.SINCE else 0
    nothing = bytes([spec.opnames.index("NOP"), 0])
    try:
        return lower(replace(unit, code=unit.code[:head] + nothing * ((start - head) // 2) + unit.code[start:]))
    except BytecodeError:
        return None


class _Earlier:
    """The stack before the break."""

    def __init__(self, before: Lowered) -> None:
        self.instrs = before.instrs
        self.stacks = origins(before, _MAKING)
        self.at = {(instr.offset, instr.op): at for at, instr in enumerate(before.instrs)}

    def made(self, instr: ops.Instr, from_top: int) -> int:
        """The instruction that pushed the value that ``instr`` takes; -1 if it is not known."""
        return self._origin(self.at.get((instr.offset, instr.op), -1), from_top)

    def _origin(self, at: int, from_top: int) -> int:
        stack = self.stacks.get(at, ())
        found = stack[-from_top] if 0 < from_top <= len(stack) else frozenset[int]()
        return next(iter(found)) if len(found) == 1 else -1

    def _constant(self, at: int, from_top: int) -> object:
        made = self._origin(at, from_top)
        return self.instrs[made].arg if made >= 0 and self.instrs[made].op == ops.LOAD_CONST else None

    def parts(self, made: int, variable: str, name: str) -> tuple[Steps, Steps] | None:
        """Steps around the load of ``variable`` that make again what the instruction ``made`` made; None if they are
        not known."""
        op, count = self.instrs[made].op, self.instrs[made].arg
        keys: list[object] = []
        if op == ops.BUILD_CONST_KEY_MAP:
            named = self._constant(made, 1)
            keys = list(named) if isinstance(named, tuple) else []
        elif op == ops.BUILD_MAP:
            keys = [self._constant(made, 2 * place) for place in range(count, 0, -1)]
        elif op == ops.BUILD_TUPLE and name == "annotations":
            keys = [self._constant(made, place) for place in range(count, 0, -2)]
        elif op != ops.BUILD_TUPLE or name != "defaults" or not count:
            return None
        if name == "defaults":
            items: list[tuple[Steps, object]] = [((), place) for place in range(count)]
        elif keys and all(type(key) is str for key in keys):
            is_tuple = op == ops.BUILD_TUPLE
            items = [(((ops.LOAD_CONST, key),), 2 * at + 1 if is_tuple else key) for at, key in enumerate(keys)]
        else:
            return None
        taken = [((ops.LOAD_CONST, index), (ops.SUBSCR, None)) for _, index in items]
        following = list(taken[0])
        for (key_first, _), taking in zip(items[1:], taken[1:]):
            following += [*key_first, (ops.LOAD_FAST, variable), *taking]
        making = ops.BUILD_TUPLE if op == ops.BUILD_TUPLE else ops.BUILD_MAP
        return items[0][0], (*following, (making, count))
