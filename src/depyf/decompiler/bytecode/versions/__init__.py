"""One module per CPython version: a delta of lowering rules over its predecessor, and the generated opcode data."""

from __future__ import annotations

import importlib

from depyf.decompiler.bytecode.versions.spec import VersionSpec
from depyf.errors import BytecodeError

SUPPORTED = ((3, 8), (3, 9), (3, 10), (3, 11), (3, 12), (3, 13), (3, 14), (3, 15))

_specs: dict[tuple[int, int], VersionSpec] = {}


def spec_for(version: tuple[int, int]) -> VersionSpec:
    """The rules for bytecode written by ``version``; loaded on first use."""
    spec = _specs.get(version)
    if spec is None:
        if version not in SUPPORTED:
            raise BytecodeError(f"bytecode of CPython {version[0]}.{version[1]} is not supported (3.8 to 3.15 are)")
        module = importlib.import_module(f"depyf.decompiler.bytecode.versions.py{version[0]}{version[1]}")
        spec = _specs[version] = module.SPEC
    return spec
