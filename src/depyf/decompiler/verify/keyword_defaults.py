"""Whether a function finds other defaults for its keyword-only parameters than its text does.

It looks for them by the names that its parameters have when it is called.  Where these are others in the text, as no
source can have them, a name that the defaults know says what the parameter gets: two parameters of one name get one
default.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.lower import Lowered
from depyf.decompiler.bytecode.variables.function_use import uses

OTHER_DEFAULTS = "it looks for the defaults of its keyword-only parameters by names that no source can give these"


def finds_other_defaults(original: CodeUnit, recompiled: CodeUnit, maker: Lowered, around: Iterable[CodeUnit]) -> bool:
    """Whether a default may be found by another name; ``maker``: the code that makes the function, in which ``around``
    nests."""
    read = (original.given or original).params
    first = original.argcount
    changed: set[object] = set()
    for old, new in list(zip(read, recompiled.params))[first : first + original.kwonlyargcount]:
        changed.update((old, new) if old != new else ())
    if not changed or not _has_defaults(maker, original):
        return False
    return any(not changed.isdisjoint(_names(unit)) for unit in around)


def _has_defaults(maker: Lowered, unit: CodeUnit) -> bool:
    """Whether ``maker`` gives ``unit`` defaults for keyword-only parameters."""
    for use in uses(maker):
        if use.unit is unit:
            after = use.made
            if "kwdefaults" in (maker.instrs[after].arg or ()):
                return True
            while maker.instrs[after + 1].op == ops.SET_FUNCTION_ATTRIBUTE:
                after += 1
                if maker.instrs[after].arg == "kwdefaults":
                    return True
    return False


def _names(unit: CodeUnit) -> Iterator[object]:
    """The texts among the constants of ``unit``."""
    for const in unit.consts:
        yield from [item for item in (const if type(const) is tuple else (const,)) if isinstance(item, str)]
