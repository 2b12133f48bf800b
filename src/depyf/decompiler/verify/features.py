"""Removes imports that only the text has: of ``__future__`` features, and of builtins.

The original was compiled with a flag of ``compile`` (a cell of a notebook, ``dont_inherit=False``).  Only the import
makes the text mean the same wherever it is compiled, and it binds a name.  A builtin whose own name the module binds is
imported under another one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CodeUnit, nested_units, units
from depyf.decompiler.bytecode.edits.splice import without
from depyf.decompiler.bytecode.lower import Lowered
from depyf.decompiler.verify.state.checked_code import MODULE_NAMES

_BINDING = (ops.STORE_NAME, ops.STORE_GLOBAL)
_HARMLESS = frozenset(
    {
        *_BINDING,
        ops.LOAD_CONST,
        ops.IMPORT_NAME,
        ops.IMPORT_FROM,
        ops.POP,
        ops.MAKE_FUNCTION,
        ops.BUILD_SET,
        ops.SETUP_ANNOTATIONS,
    }
)
"""What may come before such an import: a docstring, imports of features, and the set-up of annotations."""


def without_imports(recompiled: Lowered, features: Collection[str]) -> Lowered:
    """``recompiled`` without its first import from ``__future__``, where that binds just ``features``."""
    instrs = recompiled.instrs
    start = next((at for at, i in enumerate(instrs) if i.op == ops.IMPORT_NAME and i.arg == "__future__"), -1)
    if start < 2 or any(i.op == ops.IMPORT_NAME for i in instrs[:start]):
        return recompiled
    end, bound = _import_at(recompiled, start)
    used = {i.arg for i in instrs[:start] + instrs[end:] if i.op in MODULE_NAMES}
    used.update(name for inner in nested_units(recompiled.unit) for name in _names(inner))
    if not end or sorted(name for name, _ in bound) != sorted(features) or not used.isdisjoint(features):
        return recompiled
    return without(recompiled, range(start - 2, end))


def without_builtins(recompiled: Lowered, imported: Mapping[str, str]) -> Lowered:
    """``recompiled`` without the imports that bind ``imported``: names of builtins, with their own.

    Before the last of them there must be nothing that could look the names up.
    """
    gone: set[int] = set()
    found: dict[str, str] = {}
    for start, instr in enumerate(recompiled.instrs):
        if instr.op not in _HARMLESS or len(found) == len(imported):
            break
        if instr.op == ops.IMPORT_NAME and instr.arg == "builtins":
            end, bound = _import_at(recompiled, start)
            if end and all(imported.get(name) == own and name not in found for name, own in bound):
                found.update(bound)
                gone.update(range(start - 2, end))
            else:
                break
    return without(recompiled, gone) if gone and found == imported else recompiled


def _import_at(lowered: Lowered, start: int) -> tuple[int, list[tuple[str, str]]]:
    """Where the ``from`` import at ``start`` ends, 0 if it is none, and the names it binds, with the module's."""
    instrs = lowered.instrs
    at = start + 1
    bound = []
    while instrs[at].op == ops.IMPORT_FROM and instrs[at + 1].op in _BINDING:
        bound.append((instrs[at + 1].arg, instrs[at].arg))
        at += 2
    level = instrs[start - 2]
    plain = start > 1 and level.op == ops.LOAD_CONST and level.arg == 0 and instrs[start - 1].op == ops.LOAD_CONST
    return (at + 1 if plain and instrs[at].op == ops.POP else 0), bound


def _names(unit: CodeUnit) -> Iterator[str]:
    for inner in units(unit):
        yield from (*inner.names, *inner.freevars, *inner.varnames, *inner.cellvars)
