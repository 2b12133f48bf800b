"""The files of a package on disk: each whole, all below one folder, no link followed, nothing of others touched."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from depyf.actions.export.dumped_function import ExportError
from depyf.errors import DepyfError
from depyf.run.files.writer import make_folder, write_whole
from depyf.safety.escape import printable

MARK = "made by depyf export"
"""In the first file of each package, by which it is known again."""


def write_files(target: Path, files: Mapping[str, str | list[memoryview]]) -> None:
    """Write the files of a package; those of an earlier export that no longer belong go.  ExportError where that cannot
    be."""
    try:
        _refuse_strangers(target)
        folders = sorted({str(Path(name).parent) for name in files})
        for name in folders:
            make_folder(target, Path(name))
        for name, text in files.items():
            write_whole(str(target / name), text)
        for old in _written_before(target) - set(files):
            (target / old).unlink(missing_ok=True)
    except DepyfError as error:
        raise ExportError(str(error)) from error
    except OSError as error:
        raise ExportError(f"cannot write to {printable(str(target))}: {error.strerror or error}") from error


def _refuse_strangers(target: Path) -> None:
    """ExportError where ``target`` is there and is something else than a package of ours."""
    if target.is_symlink():
        raise ExportError(f"{printable(str(target))} is a symbolic link: depyf does not write through it")
    if not target.exists():
        return
    if not target.is_dir():
        raise ExportError(f"{printable(str(target))} is a file")
    first = target / "__init__.py"
    ours = first.is_file() and not first.is_symlink() and MARK in first.read_text(encoding="utf-8", errors="replace")
    if any(target.iterdir()) and not ours:
        raise ExportError(f"{printable(str(target))} holds files that depyf export did not write")


def _names(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir()] if folder.is_dir() and not folder.is_symlink() else []


def _written_before(target: Path) -> set[str]:
    found = set()
    kernels = target / "kernels"
    inside = [f"kernels/{name}" for name in _names(kernels) if re.fullmatch(r"graph_\w+", name)]
    for folder in ("graphs", "recorded", "kernels", *inside):
        ours = r"\w+\.(?:py|cpp)" if folder in inside else r"(?:graph_\w+|__init__)\.(?:py|safetensors)"
        found |= {f"{folder}/{name}" for name in _names(target / folder) if re.fullmatch(ours, name)}
    return found
