"""The import of a ``__future__`` feature that stands in the text alone.

The original was compiled with a flag of ``compile`` (a cell of a notebook, ``dont_inherit=False``).  Only the import makes the
text mean the same wherever it is compiled, and it binds a name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from depyf.bytecode import ops
from depyf.bytecode.codeunit import CodeUnit, units
from depyf.bytecode.lower import Lowered
from depyf.bytecode.without import without
from depyf.verify.program import MODULE_NAMES

FEATURE_NOTE = (
    "the text imports from __future__ what the original was compiled with by a flag: assumes that nothing looks for the "
    "names this binds"
)


def without_imports(recompiled: Lowered, features: Collection[str]) -> Lowered:
    """``recompiled`` without its first import from ``__future__``, where that binds just ``features``."""
    instrs = recompiled.instrs
    start = next((at for at, i in enumerate(instrs) if i.op == ops.IMPORT_NAME and i.arg == "__future__"), -1)
    if start < 2 or any(i.op == ops.IMPORT_NAME for i in instrs[:start]):
        return recompiled
    end = start + 1
    bound = []
    while instrs[end].op == ops.IMPORT_FROM and instrs[end + 1].op in (ops.STORE_NAME, ops.STORE_GLOBAL):
        bound.append(instrs[end + 1].arg)
        end += 2
    used = {i.arg for i in instrs[:start] + instrs[end:] if i.op in MODULE_NAMES}
    used.update(name for const in recompiled.unit.consts if isinstance(const, CodeUnit) for name in _names(const))
    if instrs[end].op != ops.POP or sorted(bound) != sorted(features) or not used.isdisjoint(bound):
        return recompiled
    return without(recompiled, range(start - 2, end + 1))


def _names(unit: CodeUnit) -> Iterator[str]:
    for inner in units(unit):
        yield from (*inner.names, *inner.freevars, *inner.varnames, *inner.cellvars)
