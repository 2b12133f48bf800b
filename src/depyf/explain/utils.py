"""``depyf.explain.utils``: helpers of the published depyf that serving engines call."""

from __future__ import annotations

import os
from itertools import count

from depyf.errors import DepyfError
from depyf.safety.escape import printable

__all__ = ["get_current_compiled_fn_name", "write_code_to_file_template"]


def get_current_compiled_fn_name() -> str:
    """The prefix of the file names for the compilation in progress in this thread, such as ``__compiled_fn_0_0``;
    outside of a compilation ``__compiled_fn_unknown``."""
    from depyf.contexts import current_graph_name

    return current_graph_name()


def write_code_to_file_template(src: str, path_template: str) -> str:
    """Write ``src`` to ``path_template % 0``, or with the next number that is free; the path.

    A file that holds this very text is not written again.  Several processes may do this at once.  DepyfError for a
    template without ``%s``, OSError where it cannot be written.
    """
    start, mark, end = path_template.rpartition("%s")
    if not mark:
        raise DepyfError(f"{printable(path_template)} has no %s for a number")
    part = f"{path_template}.{os.getpid()}.part".replace("%s", "")
    with open(part, "x", encoding="utf-8") as file:
        file.write(src)
    try:
        for number in count():
            path = f"{start}{number}{end}"
            if _taken(part, path) or _holds(path, src):
                return path
    finally:
        os.unlink(part)
    raise AssertionError("count() has no end")


def _taken(part: str, path: str) -> bool:
    """Give ``part`` the name ``path`` as well, unless something has that name: the file is there as a whole or not at
    all."""
    try:
        os.link(part, path)
    except FileExistsError:
        return False
    except OSError:  # a file system without links
        with open(part, encoding="utf-8", newline="") as source, open(path, "x", encoding="utf-8", newline="") as file:
            file.write(source.read())
    return True


def _holds(path: str, text: str) -> bool:
    """Is ``path`` an ordinary file with this text?"""
    if not os.path.isfile(path) or os.path.islink(path):
        return False
    with open(path, encoding="utf-8", errors="replace", newline="") as file:
        return file.read() == text
