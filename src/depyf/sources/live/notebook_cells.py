"""The cells of a notebook by their numbers: the names of IPython's temporary files do not tell the cell.

Input: names of files.  Output: for those of cells what the notebook calls them, ``In [3]``.  IPython is only looked at,
and only where the program has imported it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable

from depyf.run.places.cell_places import with_cells
from depyf.sources.live.pure_access import attribute

_OLDER = re.compile(r"^<ipython-input-(?P<number>\d+)-[0-9a-f]+>$")
_CELL = re.compile(r"[/\\]ipykernel_\d+[/\\]\d+\.py$|^<ipython-input-")


def cell_names(filenames: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """File name -> ``In [3]``, in the order of the names; other files, and cells whose number is not known, are left
    out."""
    cells = sorted({name for name in filenames if _CELL.search(name)})
    numbers = _numbers() if cells else {}
    found = []
    for name in cells:
        older = _OLDER.match(name)
        number = numbers.get(name, int(older["number"]) if older is not None else None)
        if number is not None:
            found.append((name, f"In [{number}]"))
    return tuple(found)


def in_cells(text: str) -> str:
    """``text`` with ``In [3], line 8`` in place of lines of the cells that IPython has run."""
    numbers = _numbers()
    return with_cells(text, cell_names(numbers)) if numbers else text


def _numbers() -> dict[str, int]:
    """IPython's own table of cells: file name -> number of the cell."""
    module = sys.modules.get("IPython.core.interactiveshell")
    shell = attribute(attribute(module, "InteractiveShell"), "_instance")
    known = attribute(attribute(shell, "compile"), "_filename_map")
    if type(known) is not dict:
        return {}
    return {name: number for name, number in known.items() if type(name) is str and type(number) is int}
