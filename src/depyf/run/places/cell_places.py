"""Lines of notebook cells in texts: ``In [3], line 8``, as the notebook calls them."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable


def with_cells(text: str, cells: Iterable[tuple[str, str]], spelled: Callable[[str], str] = lambda name: name) -> str:
    """``text``, plain or HTML, with ``In [3], line 8`` in place of a line of a cell, whose file it names in full,
    shortened or as ``In [3]``.  ``cells``: file name -> ``In [3]``; ``spelled``: how Markdown writes names."""
    for filename, cell in cells:
        short = filename.replace("\\", "/").rpartition("/")[2]
        for name in (filename, short):
            for written in dict.fromkeys((name, spelled(name), html.escape(name))):
                text = re.sub(rf"(?<![\w.-]){re.escape(written)}", cell, text)
        for written in dict.fromkeys((cell, spelled(cell))):
            text = re.sub(f"{re.escape(written)}:([0-9]+)", f"{cell}, line \\1", text)
    return text
