"""Which version of CPython may have written some code, where no magic number tells.

Input: a ``CodeUnit`` read as code of one version.  Output: how odd it would be for a compiler of that version, or why
no compiler of it writes such code.  Wrong versions fail at once in most code: opcodes have other numbers, jumps other
units, tables other forms.
"""

from __future__ import annotations

from depyf.decompiler.bytecode.codeunit import CodeUnit, units
from depyf.decompiler.bytecode.decode import Raw, decode
from depyf.decompiler.bytecode.lower import lower
from depyf.decompiler.bytecode.tables.linetables import locations
from depyf.decompiler.bytecode.versions import spec_for
from depyf.decompiler.bytecode.versions.spec import VersionSpec

_SLACK = 2
"""Our operations hold a slot or two more or less than CPython's."""


def oddities(outermost: CodeUnit) -> int:
    """How much in the code, nested code included, is not as the compilers of its version leave it.

    BytecodeError where some of it is no code of that version.
    """
    return sum(map(_oddities, units(outermost)))


def _oddities(unit: CodeUnit) -> int:
    spec = spec_for(unit.version)
    raw = decode(unit, spec)
    lowered = lower(unit)
    found = int(abs(unit.stacksize - max(lowered.depths)) > _SLACK)
    found += not _lines_fit(unit)
    if unit.version >= (3, 11):
        found += sum(map(bool, _cached(unit, raw, spec)))
        found += "RESUME" not in raw.names
    return found


def _lines_fit(unit: CodeUnit) -> bool:
    """Whether the table of lines has the length of the code."""
    if unit.version >= (3, 11):
        return 2 * len(locations(unit).of) == len(unit.code)
    covered = sum(unit.linetable[::2])
    return covered == len(unit.code) if unit.version == (3, 10) else covered < len(unit.code)


def _cached(unit: CodeUnit, raw: Raw, spec: VersionSpec) -> bytes:
    """The bytes of all inline caches: a file has zeros there."""
    caches = spec.caches
    return b"".join(
        [unit.code[offset + 2 : offset + 2 + caches[op]] for op, offset in zip(raw.opcodes, raw.offsets) if caches[op]]
    )
