"""One function or class of a file as the text of the whole file has it: with decorators, default values and
annotations.

Input: the code of the file and that of the part.  Output: the statement that defines the part, cut out of the file's
text, with the verdicts of the part.  What surrounds a statement is proven with the code around it: there is no result
where that is not, or where the statement by itself would mean something else.
"""

from __future__ import annotations

import re
from dataclasses import replace

from depyf.decompiler.bytecode.codeunit import CO_OPTIMIZED, CodeUnit, nested_units, units
from depyf.decompiler.bytecode.variables.spelling import mangling_prefix
from depyf.decompiler.driver.pipeline import Decompiled, decompile_unit
from depyf.decompiler.emit.comments import source_lines
from depyf.decompiler.emit.result import Emitted
from depyf.decompiler.options import Options
from depyf.errors import DepyfError

_GENERIC = "<generic parameters of "
_TRIPLE = ('"""', "'''")
_IDENTIFIER = re.compile(r"\w+")


def decompile_part(whole: CodeUnit, part: CodeUnit, options: Options = Options()) -> Decompiled | None:
    """The statement that defines ``part`` in the text of ``whole``; None where there is none that stands by itself."""
    around = _path(whole, part)
    if not around or not _stands_alone(part, around):
        return None
    try:
        found = decompile_unit(whole, options)
    except DepyfError:
        return None
    order = list(units(whole))
    if found.emitted is None or len(order) != len(found.verdicts):
        return None
    at = next(number for number, unit in enumerate(order) if unit is part)
    outer = found.verdicts[next(number for number, unit in enumerate(order) if unit is around[-1])]
    own = found.verdicts[at : at + sum(1 for _ in units(part))]
    same = outer.reason == own[0].reason and outer.status is own[0].status  # nothing was proven, for one reason
    if not (outer.proven or outer.reason.startswith("nested ") or same):
        return None
    cut = _cut(found.emitted, part)
    if cut is None:
        return None
    text, above = cut
    names = set(_IDENTIFIER.findall(text))
    if not names.isdisjoint(found.emitted.imported):
        return None
    front = [line for line in source_lines(found.source)[:2] if line.startswith("from __future__ import ")]
    front += ["", ""] if front else []
    moved = len(front) - above
    last = above + text.count("\n")
    return replace(
        found,
        source="\n".join([*front, text]),
        verdicts=own,
        linemap=tuple([(line + moved, source) for line, source in found.linemap if above < line <= last]),
        code=None,
        definitions=tuple([line for line in found.definitions if line.split(" ")[0] in names]),
        fallbacks=tuple([name for name in found.fallbacks if name in {verdict.qualname for verdict in own}]),
        emitted=None,
    )


def _path(whole: CodeUnit, part: CodeUnit) -> list[CodeUnit]:
    """What ``part`` is nested in, the outermost first; [] where it is not in ``whole``."""
    pending = [[whole]]
    while pending:
        path = pending.pop()
        for inner in nested_units(path[-1]):
            if inner is part:
                return path
            pending.append([*path, inner])
    return []


def _stands_alone(part: CodeUnit, around: list[CodeUnit]) -> bool:
    """Whether the statement needs no variable of a function around it, and no class that mangles its names."""
    statement = around[-1] if around[-1].name.startswith(_GENERIC) else part
    if statement.freevars:
        return False
    classes = [mangling_prefix(unit.name) for unit in around if not unit.flags & CO_OPTIMIZED]
    prefixes = tuple([prefix + "__" for prefix in classes if prefix])
    names = (name for unit in units(part) for name in (*unit.names, *unit.varnames, *unit.cellvars, *unit.freevars))
    return not any(name.startswith(prefixes) for name in names)


def _cut(emitted: Emitted, part: CodeUnit) -> tuple[str, int] | None:
    """The statement, without the indentation of what is around it, and how many lines are above it."""
    for unit, first, end in emitted.definitions:
        if (unit.given or unit) is part:
            entries = emitted.entries
            while first < end and not entries[first]:
                first += 1
            pad = len(entries[first]) - len(entries[first].lstrip(" "))
            text = "\n".join([_moved(entry, pad) for entry in entries[first:end]])
            return text + "\n", sum(entry.count("\n") + 1 for entry in entries[:first])
    return None


def _moved(entry: str, pad: int) -> str:
    """A logical line ``pad`` columns to the left; what a docstring holds stays."""
    if any(quotes in entry for quotes in _TRIPLE):
        return entry[pad:]
    return "\n".join([line[pad:] for line in entry.split("\n")])
