"""Mutants of bytecode through the verifier; what it accepts is run beside the original.

    python -m tools.proof.attack.bytecodes --version 3.13 --count 10000 [--seed 0] [--only json]

The functions are those of ``attack.texts``.  Each is compiled by the interpreter of the version; one place of its
instructions, exception table, names, constants, flags or variables is changed, and the verifier is asked whether the
result means the same.  If it says so, the interpreter must do exactly the same with both, or even not crash.
"""

from __future__ import annotations

import argparse
import ast
import random
import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.decode import Raw, decode
from depyf.decompiler.bytecode.versions import spec_for
from depyf.decompiler.verify import verify
from depyf.errors import BytecodeError
from tools.proof.attack.execution import Crashed, Executor
from tools.proof.attack.findings import Findings, explained, first_difference, only_reordered, report
from tools.proof.attack.texts import SEEDS, VERSIONS, Named, compiled, subjects

FROM_ONE = 20
"""Mutants of one function."""
ROOM = 8
"""Slots of the stack for what a mutant leaves there: none may write beyond its frame."""
FLAGS = (0x4, 0x8, 0x10, 0x20, 0x80, 0x100, 0x200)
Patch = dict[str, Any]
"""What ``traced.patched`` replaces: the names of ``CodeUnit``."""
Mutation = Callable[[CodeUnit, Raw, random.Random], "Patch | None"]


def _with_bytes(unit: CodeUnit, changes: dict[int, int]) -> Patch:
    code = bytearray(unit.code)
    for offset, value in changes.items():
        code[offset] = value & 0xFF
    return {"code": bytes(code)}


def argument(unit: CodeUnit, raw: Raw, pick: random.Random) -> Patch:
    """Another operand."""
    index = pick.randrange(len(raw.offsets))
    old = raw.args[index] & 0xFF
    alike = [raw.args[i] & 0xFF for i, name in enumerate(raw.names) if name == raw.names[index]]
    new = pick.choice((old + 1, old - 1, old ^ 1, old ^ 2, old ^ 16, old + 2, pick.choice(alike), pick.randrange(8)))
    return _with_bytes(unit, {raw.offsets[index] + 1: new})


def opcode(unit: CodeUnit, raw: Raw, pick: random.Random) -> Patch | None:
    """Another instruction of the same length."""
    spec = spec_for(unit.version)
    index = pick.randrange(len(raw.offsets))
    caches = spec.caches[raw.opcodes[index]]
    same = [code for code, name in _written(unit.version) if spec.caches[code] == caches and name != raw.names[index]]
    prefix = raw.names[index].split("_")[0]
    near = [code for code in same if (spec.opnames[code] or "").startswith(prefix)]
    choices = near if near and pick.random() < 0.7 else same
    return _with_bytes(unit, {raw.offsets[index]: pick.choice(choices)}) if choices else None


def swap(unit: CodeUnit, raw: Raw, pick: random.Random) -> Patch | None:
    """Two neighbours in the other order."""
    spec = spec_for(unit.version)
    plain = [
        i for i in range(len(raw.offsets) - 1)
        if not spec.caches[raw.opcodes[i]] and not spec.caches[raw.opcodes[i + 1]] and raw.offsets[i + 1] == raw.offsets[i] + 2
    ]  # fmt: skip
    if not plain:
        return None
    at = raw.offsets[pick.choice(plain)]
    code = unit.code
    return _with_bytes(unit, {at: code[at + 2], at + 1: code[at + 3], at + 2: code[at], at + 3: code[at + 1]})


def nothing(unit: CodeUnit, raw: Raw, pick: random.Random) -> Patch | None:
    """NOP in the place of an instruction."""
    spec = spec_for(unit.version)
    index = pick.randrange(len(raw.offsets))
    nop = next(code for code, name in enumerate(spec.opnames) if name == "NOP")
    return (
        None
        if spec.caches[raw.opcodes[index]]
        else _with_bytes(unit, {raw.offsets[index]: nop, raw.offsets[index] + 1: 0})
    )


def table(unit: CodeUnit, raw: Raw, pick: random.Random) -> Patch | None:
    """Another entry of the exception table."""
    if not unit.exctable:
        return None
    data = bytearray(unit.exctable)
    at = pick.randrange(len(data))
    data[at] = (data[at] & 0xC0) | ((data[at] + pick.choice((1, -1, 2, -2, 4))) & 0x3F)
    return {"exctable": bytes(data)}


def names(unit: CodeUnit, raw: Raw, pick: random.Random) -> Patch | None:
    return _swapped(unit, "names", pick)


def constants(unit: CodeUnit, raw: Raw, pick: random.Random) -> Patch | None:
    if len(unit.consts) < 2:
        return None
    order = list(range(len(unit.consts)))
    i, j = pick.sample(order, 2)
    order[i], order[j] = order[j], order[i]
    return {"order": order}


def variables(unit: CodeUnit, raw: Raw, pick: random.Random) -> Patch | None:
    return _swapped(unit, pick.choice(("varnames", "cellvars")), pick)


def _swapped(unit: CodeUnit, field: str, pick: random.Random) -> Patch | None:
    items = list(getattr(unit, field))
    if len(items) < 2:
        return None
    i, j = pick.sample(range(len(items)), 2)
    items[i], items[j] = items[j], items[i]
    return {field: items}


def flags(unit: CodeUnit, raw: Raw, pick: random.Random) -> Patch:
    return {"flags": unit.flags ^ pick.choice(FLAGS)}


def name(unit: CodeUnit, raw: Raw, pick: random.Random) -> Patch:
    """Only since 3.11 a code object has a qualified name."""
    return {pick.choice(("name", "qualname")) if unit.version >= (3, 11) else "name": unit.name + "_"}


MUTATIONS: tuple[Mutation, ...] = (
    argument, argument, argument, argument, opcode, opcode, opcode, swap, swap, nothing, nothing, table, table, names, constants, variables,
    flags, name,
)  # fmt: skip

_seen: defaultdict[tuple[int, int], dict[int, str]] = defaultdict(dict)


def _written(version: tuple[int, int]) -> list[tuple[int, str]]:
    """The opcodes that the compiler of a version was seen to write."""
    return sorted(_seen[version].items())


def applied(unit: CodeUnit, patch: Patch) -> CodeUnit:
    """The unit as ``traced.patched`` makes the code object."""
    changes = {
        key: tuple(value) if isinstance(value, list) else value for key, value in patch.items() if key != "order"
    }
    if "order" in patch:
        changes["consts"] = tuple(unit.consts[i] for i in patch["order"])
    return replace(unit, live=None, **changes)


def nested(unit: CodeUnit, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], CodeUnit]]:
    """A code unit and those in it that are the first of their name."""
    found = [(path, unit)]
    names_here: set[str] = set()
    for const in unit.consts:
        if isinstance(const, CodeUnit) and const.name not in names_here:
            names_here.add(const.name)
            found += nested(const, (*path, const.name))
    return found


def rebuilt(unit: CodeUnit, path: tuple[str, ...], patch: Patch) -> CodeUnit:
    """``unit`` with the patch applied to what lies at ``path`` in it."""
    if not path:
        return applied(unit, patch)
    inner = next(c for c in unit.consts if isinstance(c, CodeUnit) and c.name == path[0])
    new = rebuilt(inner, path[1:], patch)
    return replace(unit, live=None, consts=tuple(new if c is inner else c for c in unit.consts))


def attack(version: str, count: int, seed: int, pool: list[Named]) -> Findings:
    """``count`` mutants of bytecode of functions of the ``pool`` that is not the same."""
    major, minor = map(int, version.split("."))
    pick = random.Random(f"{seed} {version} bytecode")
    found = Findings(version)
    executor = Executor(version)
    try:
        while found.mutants < count:
            place, node = pick.choice(pool)
            text = ast.unparse(ast.fix_missing_locations(ast.Module([node], [])))
            unit = compiled(text, node.name, (major, minor))
            if unit is None:
                continue
            for _ in range(min(FROM_ONE, count - found.mutants)):
                _one(found, executor, place, unit, text, pick)
    finally:
        executor.close()
    return found


def _one(found: Findings, executor: Executor, place: str, unit: CodeUnit, text: str, pick: random.Random) -> None:
    path, target = pick.choice(nested(unit))
    raw = decode(target, spec_for(target.version))
    _seen[target.version].update(zip(raw.opcodes, raw.names))
    mutation = pick.choice(MUTATIONS)
    seed = pick.randrange(1 << 20)
    patch = mutation(target, raw, pick)
    if patch is None or all(getattr(target, key, None) in (value, _tuple(value)) for key, value in patch.items()):
        return
    found.mutants += 1
    try:
        verdicts = verify(unit, rebuilt(unit, path, patch))
    except BytecodeError:
        verdicts = ()
    if not verdicts or not all(verdict.proven for verdict in verdicts):
        found.rejected += 1
        return
    found.accepted += 1
    plain = {key: value.hex() if isinstance(value, bytes) else value for key, value in patch.items()}
    plain["stacksize"] = target.stacksize + ROOM
    side = {"text": text, "path": [unit.name, *path], "patch": plain}
    shown = f"{place} {'.'.join(path)} {mutation.__name__}: {plain if len(str(plain)) < 300 else _changed(target, patch, raw)}"
    reasons = sorted({verdict.reason for verdict in verdicts if verdict.reason})
    try:
        different = executor.differences({"text": text}, side, range(seed, seed + SEEDS))
    except Crashed as crash:
        found.unexplained.append(f"{shown}\n{text}\n{crash}")
        return
    found.runs += SEEDS
    if not different:
        return
    if explained(reasons, different):
        found.assumed["; ".join(reasons)] += 1
        return
    group = found.reordered if all(only_reordered(*runs[1:]) for runs in different) else found.unexplained
    group.append(f"{shown}\n{text}\nseed {different[0][0]}:\n{first_difference(*different[0][1:])}")


def _tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def _changed(unit: CodeUnit, patch: Patch, raw: Raw) -> str:
    """The instructions whose bytes differ."""
    new = patch.get("code", unit.code)
    return ", ".join(
        f"{raw.names[i]} {raw.args[i]} at {at}: now {spec_for(unit.version).opnames[new[at]]} {new[at + 1]}"
        for i, at in enumerate(raw.offsets)
        if new[at : at + 2] != unit.code[at : at + 2]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", action="append", help=f"3.8 to 3.15; default {' '.join(VERSIONS)}")
    parser.add_argument("--count", type=int, default=10_000, help="mutants of each version")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="functions whose place contains this")
    options = parser.parse_args()
    pool = subjects(options.only)
    return report([attack(v, options.count, options.seed, pool) for v in options.version or VERSIONS])


if __name__ == "__main__":
    sys.exit(main())
