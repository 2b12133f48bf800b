"""Logs in an object store (``s3://bucket/run``, ``gs://``, ``memory://``): copied for the command, through fsspec.

Input: what the command line names.  Output: local paths; InputError where the store, or what reads it, is not there.
Only files that may be logs of torch are copied, one after the other, and nothing is written to the store.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from depyf.cli.input_errors import InputError
from depyf.safety.escape import file_name, printable
from depyf.safety.guarded import problem
from depyf.sources.trace_log.log_files import MOST_FILES, RAW, may_be_log

_SHORTEST = 3
"""Characters of a scheme with its colon: ``C:`` is none."""


def url_of(path: Path) -> str:
    """The URL in a path of the command line, where ``//`` became ``/``; "" for a path that is none."""
    first = path.parts[0] if path.parts else ""
    scheme = first.removesuffix(":")
    if len(first) < _SHORTEST or not first.endswith(":") or not scheme.isalnum() or path.exists():
        return ""
    return f"{scheme}://{'/' if scheme == 'file' else ''}{'/'.join(path.parts[1:])}"


@contextlib.contextmanager
def logs_at_hand(options: argparse.Namespace, names: Iterable[str]) -> Iterator[None]:
    """While the block lasts, the arguments ``names`` that are addresses are folders with copies of their logs."""
    work: list[Path] = []
    try:
        for name in names:
            given = getattr(options, name, None)
            url = url_of(Path(given)) if given is not None else ""
            if url:
                work.append(Path(tempfile.mkdtemp(prefix="depyf-logs-")))
                copied = _copied(url, work[-1])
                setattr(options, name, copied if isinstance(given, Path) else str(copied))
                options.remote = {**getattr(options, "remote", {}), copied: Path(url)}
        yield
    finally:
        for one in work:
            shutil.rmtree(one, ignore_errors=True)


def _copied(url: str, work: Path) -> Path:
    """The logs at ``url``, in a folder of their name; a single log with its name."""
    try:
        core: Any = importlib.import_module("fsspec.core")
    except ImportError as error:
        raise InputError(f"{url} needs fsspec: pip install fsspec (torch brings it)") from error
    try:
        store, root = core.url_to_fs(url)
        name = file_name(root.rstrip("/").rpartition("/")[2] or "logs")
        if store.isfile(root):
            store.get_file(root, str(work / name))
            return work / name
        folder = work / name
        folder.mkdir()
        for item in store.ls(root, detail=True)[:MOST_FILES]:
            _copy(store, item, folder)
    except Exception as error:  # whatever a store raises, or the package for it is missing
        raise InputError(f"{printable(url)} cannot be read: {problem(error)}") from error
    return folder


def _copy(store: Any, item: dict[str, Any], folder: Path) -> None:
    path = str(item["name"]).rstrip("/")
    name = file_name(path.rpartition("/")[2])
    if item["type"] == "directory":
        if store.isfile(f"{path}/{RAW}"):
            (folder / name).mkdir()
            store.get_file(f"{path}/{RAW}", str(folder / name / RAW))
    elif may_be_log(name):
        store.get_file(path, str(folder / name))
