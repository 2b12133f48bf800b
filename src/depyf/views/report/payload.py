"""The data of a page: chunks of compressed JSON, each opened by the browser when it is first looked at."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable
from typing import Any

from depyf.views.report.highlighting import language, runs


def packed(data: Any) -> str:
    """``data`` as JSON, compressed with gzip, in base64; the same for the same data."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode("utf-8", "surrogatepass"), 9, mtime=0)).decode("ascii")


def texts(files: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """The lines of some files, each line once: ``lines`` are [text, runs], ``files`` are name -> numbers of lines."""
    table: dict[tuple[str, str], int] = {}
    found: dict[str, list[int]] = {}
    for name, text in files:
        lines = text.split("\n")
        if lines and not lines[-1]:
            lines.pop()
        found[name] = [table.setdefault(pair, len(table)) for pair in zip(lines, runs(text, language(name)))]
    return {"lines": [list(pair) for pair in table], "files": found}
