"""Which files are no program's: the standard library, torch with what it stands on, depyf.

Input: the name of a file, of this machine or of another.  Output: yes or no.
"""

from __future__ import annotations

import functools
import re
import sysconfig
from importlib.util import find_spec
from pathlib import Path

_MADE = ("<frozen ", "<string>", "<eval_with_key>", "<attrs ", "<__array_function__")
"""How the file names of generated functions begin."""
_BENEATH = (
    "torch", "functorch", "sympy", "mpmath", "numpy", "networkx", "filelock", "fsspec", "triton", "depyf", "jinja2",
    "typing_extensions", "setuptools", "_distutils_hack",
)  # fmt: skip


@functools.cache
def _library_folders() -> tuple[str, ...]:
    """Where the standard library, torch with what it stands on, and depyf lie."""
    packages = [spec.origin for name in _BENEATH if (spec := find_spec(name)) is not None and spec.origin]
    folders = {origin if Path(origin).name != "__init__.py" else str(Path(origin).parent) for origin in packages}
    standard = Path(sysconfig.get_paths()["stdlib"])
    folders |= {str(path) for path in standard.iterdir() if path.name not in ("site-packages", "dist-packages")}
    return tuple(f"{folder}/" if Path(folder).is_dir() else folder for folder in sorted(folders))


def of_libraries(filename: str) -> bool:
    """Whether a function's file is of the standard library, torch, what that stands on, or depyf, or no file at all."""
    return filename.startswith(_library_folders()) or filename.startswith(_MADE) or _elsewhere(filename)


_ELSEWHERE = re.compile(
    rf"[/\\](?:site|dist)-packages[/\\](?:{'|'.join(map(re.escape, _BENEATH))})[/\\.]"
    r"|[/\\]lib[/\\]python3\.\d+t?[/\\](?!site-packages[/\\]|dist-packages[/\\])"
)
"""The same files of another interpreter, or on another machine."""


@functools.lru_cache(maxsize=4096)
def _elsewhere(filename: str) -> bool:
    return _ELSEWHERE.search(filename) is not None
