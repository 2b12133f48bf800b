"""What the rules of the walk need to know of an original that is the second half of a statement cut in two.

- *Augmented assignments* (``ASSIGNED_NOTE``): the old value is on the stack when the original changes it in place.  The
  walk gives it to a variable: where it is loaded to the one that gets the result, or the result to the one that it was
  loaded from.
- *Functions* (``FUNCTIONS_NOTE``): defaults and annotations come as one tuple or dict.  What was in it says the code
  before the break, which nothing reaches; the walk has them one by one.
- *Frames* (``LISTS_NOTE``): the values of a frame come in one list, of which each item is read and then set to None.
  The text unpacks the list, and has what the original leaves on its stack in variables.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from depyf.decompiler.bytecode import ops, prologue
from depyf.decompiler.bytecode.decode import decode
from depyf.decompiler.bytecode.edits.control_flow import reached, successors
from depyf.decompiler.bytecode.edits.origins import Origins, origins
from depyf.decompiler.bytecode.lower import Lowered, lower
from depyf.decompiler.bytecode.versions import spec_for
from depyf.errors import BytecodeError

Shape = tuple[object, ...]
"""``("const", value)``, ``("tuple", count)``, ``("keyed", *keys)`` or ``("pairs", *keys)``: a tuple of keys and values
in turn."""
ON_STACK = "___stack"
"""The names, of Dynamo's parameters and of variables in the text, for values that stay on the stack."""


def early_variables(
    code: Lowered,
    alone: frozenset[int],
    stacks: Mapping[int, Origins],
    taken: Mapping[int, str],
    *,
    keep_parameters: bool,
) -> tuple[dict[int, str], dict[int, str]]:
    """The loads of old values, with the variable that gets the result; and the changes whose result stays in the
    variable loaded from.

    ``alone`` are the loads of what nothing else reads, ``taken`` the variables for what is taken off a list;
    ``keep_parameters``: code that runs keeps the values of its parameters.
    """
    early: dict[int, str] = {}
    late: dict[int, str] = {}
    changes = [at for at, i in enumerate(code.instrs) if i.op == ops.BINARY and str(i.arg).endswith("=")]
    sources = {at: stacks[at][-2] for at in changes if at in stacks}
    for at, loads in sources.items():
        own = loads & alone
        if len(own) != 1 or -1 in loads:
            continue
        (load,) = own
        if any(load in other for place, other in sources.items() if place != at):
            continue
        after = code.instrs[at + 1]
        variable = str(after.arg) if after.op == ops.STORE_FAST else ""
        # in a loop the second value comes from the variable itself
        if any((code.instrs[o].op, code.instrs[o].arg) != (ops.LOAD_FAST, variable) for o in loads - own):
            continue
        if variable and (_first_value(code, variable, at + 1) or not keep_parameters and _overwritten(code, variable)):
            early[load] = variable
        elif loads == own and not keep_parameters:
            late[at] = taken.get(load) or str(code.instrs[load].arg)
    return early, late


def _first_value(code: Lowered, variable: str, store: int) -> bool:
    """Whether the variable is empty until the ``store``, or still has the value of an earlier run of it."""
    unit = code.unit
    if variable in {*unit.params, *unit.cellvars, *unit.freevars}:
        return False
    changing = ops.LOCALS - {ops.LOAD_FAST}
    others = [a for a, i in enumerate(code.instrs) if a != store and i.op in changing and i.arg == variable]
    return store not in reached(others, lambda index: successors(code, index))


def _overwritten(code: Lowered, variable: str) -> bool:
    """Whether nothing reads the value that the variable has at the beginning."""
    if variable in {*code.unit.cellvars, *code.unit.freevars}:
        return False

    def before_use(at: int) -> list[int]:
        instr = code.instrs[at]
        return [] if instr.op in ops.LOCALS and instr.arg == variable else successors(code, at)

    first = (code.instrs[at] for at in reached([0], before_use))
    return all(i.op == ops.STORE_FAST for i in first if i.op in ops.LOCALS and i.arg == variable)


def frame_values(code: Lowered, lists: Collection[str]) -> tuple[dict[int, str], frozenset[int]]:
    """The readings of items, each with the variable that gets it, or that the text has for it where it stays on the
    stack; and where the items are set to None.  Both empty where the list, or such a variable before that, is used
    otherwise."""
    instrs = code.instrs
    for name in lists:
        readings: dict[int, str] = {}
        clearings: set[int] = set()
        names: list[str] = []
        made: set[str] = set()
        used = False
        uses = [at for at, i in enumerate(instrs) if i.op in ops.LOCALS and i.arg == name]
        for first, second in zip(uses[::2], uses[1::2]):
            index = len(readings)
            stored = second - first == 5
            if not stored and second - first != 4:
                break
            reading = [(ops.LOAD_FAST, name), (ops.LOAD_CONST, index), (ops.SUBSCR, None)]
            clearing = [
                (ops.LOAD_CONST, None),
                (ops.LOAD_FAST, name),
                (ops.LOAD_CONST, index),
                (ops.STORE_SUBSCR, None),
            ]
            if not _is(code, first, reading) or not _is(code, second - 1, clearing):
                break
            if stored and instrs[first + 3].op != ops.STORE_FAST:
                break
            variable = str(instrs[first + 3].arg) if stored else ON_STACK + str(index)
            readings[first + 2] = variable
            used = used or any(i.op in ops.LOCALS and i.arg == variable for i in instrs[: first + 3])
            if not stored:
                made.add(variable)
            clearings.add(second + 2)
            names.append(variable)
        whole = len(uses) == 2 * len(readings) and len(set(names)) == len(names) and not used
        if readings and whole and made.isdisjoint(code.unit.varnames):
            return readings, frozenset(clearings)
    return {}, frozenset()


def _is(code: Lowered, at: int, steps: Sequence[tuple[str, object]]) -> bool:
    part = code.instrs[at : at + len(steps)]
    return [(i.op, i.arg, type(i.arg)) for i in part] == [(op, arg, type(arg)) for op, arg in steps]


_PARTS = ("defaults", "kwdefaults", "annotations")
_MAKING = frozenset({ops.LOAD_CONST, ops.BUILD_TUPLE, ops.BUILD_MAP, ops.BUILD_CONST_KEY_MAP})


def parts_of_functions(code: Lowered, alone: frozenset[int]) -> dict[int, Shape]:
    """The loads of such tuples and dicts, and of keys of such, each with what the code before the break had there."""
    if not any(i.op in (ops.MAKE_FUNCTION, ops.SET_FUNCTION_ATTRIBUTE) for i in code.instrs):
        return {}
    stacks = origins(code, {*_MAKING, ops.SUBSCR})
    wanted = {load: (at, slot, part) for at, slot, part, loads in _taken(code, stacks) for load in loads & alone}
    whole = _whole(code) if wanted else None
    if whole is None:
        return {}
    made = origins(whole, _MAKING)
    place = {(i.offset, i.op): at for at, i in enumerate(whole.instrs)}

    def maker(at: int, from_top: int) -> int:
        stack = made.get(at, ())
        found = stack[-from_top] if 0 < from_top <= len(stack) else frozenset[int]()
        return next(iter(found)) if len(found) == 1 else -1

    def constant(at: int, from_top: int) -> object:
        found = maker(at, from_top)
        return whole.instrs[found].arg if found >= 0 and whole.instrs[found].op == ops.LOAD_CONST else None

    shapes: dict[int, Shape] = {}
    for load, (at, slot, part) in wanted.items():
        taker = code.instrs[at]
        found = maker(place.get((taker.offset, taker.op), -1), len(stacks[at]) - slot)
        if found < 0:
            continue
        op, count = whole.instrs[found].op, whole.instrs[found].arg
        if op == ops.LOAD_CONST:
            shapes[load] = ("const", count)
        elif op == ops.BUILD_TUPLE and part == "defaults" and count:
            shapes[load] = ("tuple", count)
        elif part != "defaults":
            keys: object = ()
            if op == ops.BUILD_CONST_KEY_MAP:
                keys = constant(found, 1)
            elif op == ops.BUILD_MAP:
                keys = tuple(constant(found, 2 * from_end) for from_end in range(count, 0, -1))
            elif op == ops.BUILD_TUPLE and part == "annotations":
                keys = tuple(constant(found, from_end) for from_end in range(count, 0, -2))
            if isinstance(keys, tuple) and keys and all(type(key) is str for key in keys):
                shapes[load] = ("pairs" if op == ops.BUILD_TUPLE else "keyed", *keys)
    return shapes


def _taken(code: Lowered, stacks: dict[int, Origins]) -> Iterator[tuple[int, int, str, frozenset[int]]]:
    """The instructions that take parts of a function or keys of them: from which slot, which part, and what may have
    pushed it."""
    for at, stack in stacks.items():
        instr = code.instrs[at]
        if instr.op == ops.MAKE_FUNCTION:
            parts = tuple(instr.arg)
        elif instr.op == ops.SET_FUNCTION_ATTRIBUTE:
            parts = (instr.arg,)
        else:
            continue
        for slot, part in enumerate(parts, len(stack) - 1 - len(parts)):
            if part not in _PARTS:
                continue
            yield at, slot, part, stack[slot]
            for maker in stack[slot] if part != "defaults" else ():
                if maker < 0:
                    continue
                step = {ops.BUILD_MAP: 2, ops.BUILD_TUPLE: 1}.get(code.instrs[maker].op, 0)
                below = stacks[maker]
                for key in range(len(below) - step * code.instrs[maker].arg, len(below), 2) if step else ():
                    yield maker, key, part, below[key]


def _whole(code: Lowered) -> Lowered | None:
    """The function without the way to the place to resume at, which is in front of it; None if that cannot be read."""
    unit = code.unit
    spec = spec_for(unit.version)
    raw = decode(unit, spec)
    forward = (
        at for at, name in enumerate(raw.names) if name in ("JUMP_FORWARD", "JUMP_ABSOLUTE") and raw.targets[at] > at
    )
    way = next(forward, -1)
    user = prologue.end(raw, way + 1)  # the way has made its cells, or got them as free variables
    after = [offset for offset, at in raw.index_at.items() if at == user]
    if way < 0 or not after:
        return None
    first = raw.offsets[prologue.length(raw)] if unit.version >= prologue.SINCE else 0
    nop = bytes([spec.opnames.index("NOP"), 0])
    filled = unit.code[:first] + nop * ((after[0] - first) // 2) + unit.code[after[0] :]
    try:
        return lower(replace(unit, code=filled))
    except BytecodeError:
        return None
