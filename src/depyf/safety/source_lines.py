"""Lines of the source file that a code object or a page names: the name may be that of any file."""

from __future__ import annotations

import linecache
import os
import stat


def source_line(path: str, line: int) -> str:
    """The line, without the white space around it; "" unless ``path`` is an ordinary file with Python source, or text
    that this process has compiled."""
    return linecache.getline(path, line).strip() if path in linecache.cache or _is_source(path) else ""


def source_text(path: str, most: int) -> str:
    """The whole file, as this process knows it; "" where ``source_line`` has none, or it has more than ``most``
    characters."""
    text = "".join(linecache.getlines(path)) if path in linecache.cache or _is_source(path) else ""
    return text if len(text) <= most else ""


def _is_source(path: str) -> bool:
    try:
        return path.endswith((".py", ".pyw", ".pyi")) and stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False
