"""Which files are no program's: the standard library, torch with what it stands on, depyf.

Input: the name of a file, of this machine or of another.  Output: yes or no.
"""

from __future__ import annotations

import contextlib
import functools
import re
import sysconfig
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

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


@functools.lru_cache(maxsize=4096)
def of_libraries(filename: str) -> bool:
    """Whether a file belongs to the standard library, torch, torch's dependencies or depyf, or is no file at all."""
    return filename.startswith((*_library_folders(), *_MADE, *_TorchFolders.folders)) or _elsewhere(filename)


_ELSEWHERE = re.compile(
    rf"[/\\](?:site|dist)-packages[/\\](?:{'|'.join(map(re.escape, _BENEATH))})[/\\.]"
    r"|[/\\]lib[/\\]python3\.\d+t?[/\\](?!site-packages[/\\]|dist-packages[/\\])"
)
"""The same files of another interpreter, or on another machine."""


def _elsewhere(filename: str) -> bool:
    return _ELSEWHERE.search(filename) is not None


class _TorchFolders:
    """The folder of the torch that wrote the log: it may be a checkout."""

    folders: ClassVar[tuple[str, ...]] = ()


_OF_TORCH = re.compile(
    r"(?P<folder>.*[/\\]torch[/\\])_dynamo[/\\](?:convert_frame|eval_frame|symbolic_convert)\.py\Z", re.S
)


@contextlib.contextmanager
def torch_elsewhere() -> Iterator[None]:
    """While the block lasts, files of a torch in another folder (that of a log) count as torch's, too."""
    try:
        yield
    finally:
        _TorchFolders.folders = ()
        of_libraries.cache_clear()


def torch_lies_at(filename: str) -> None:
    """Note the folder of torch in ``filename``, a name from a log, if it has one."""
    found = _OF_TORCH.match(filename)
    if found is not None and found["folder"] not in _TorchFolders.folders:
        _TorchFolders.folders = (*_TorchFolders.folders, found["folder"])[-8:]
        of_libraries.cache_clear()


def in_torch(name: str) -> str:
    """The full name of a file of that torch: of ``torch/nn/functional.py``; any other name unchanged."""
    folder = next(iter(_TorchFolders.folders), "")
    return folder + name.removeprefix("torch/") if folder and name.startswith("torch/") else name
