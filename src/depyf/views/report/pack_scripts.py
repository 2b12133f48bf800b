"""One script out of the modules in ``assets/js``: a page that opens from disk can import nothing.

Input: modules that import each other by name (``import {a, b} from "./dom.js";``) and export functions and constants.
Output: one strict script with the modules in the order in which they need each other.  They share a scope, so top-level
names are unique over all of them: a test checks it.
"""

from __future__ import annotations

import re
from pathlib import Path

ASSETS = Path(__file__).parent / "assets"
"""The files that a page is made of."""
MAIN = "main.js"
_IMPORT = re.compile(r'^import\s+\{[^}]*\}\s+from\s+"\./([\w.-]+)";\n', re.M)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class|let)\b)", re.M)


def script() -> str:
    """The script of a page."""
    folder = ASSETS / "js"
    ordered: dict[str, str] = {}
    _add(MAIN, folder, ordered, ())
    vendored = "".join(item.read_text("utf-8") + "\n" for item in _sorted(ASSETS / "vendor", ".js"))
    return vendored + '(() => {\n"use strict";\n' + "\n".join(ordered.values()) + "})();\n"


def _add(name: str, folder: Path, ordered: dict[str, str], above: tuple[str, ...]) -> None:
    if name in ordered:
        return
    if name in above:
        raise ValueError(f"modules import each other in a circle: {' -> '.join((*above, name))}")
    text = (folder / name).read_text("utf-8")
    for other in _IMPORT.findall(text):
        _add(other, folder, ordered, (*above, name))
    ordered[name] = f"// {name}\n" + _EXPORT.sub("", _IMPORT.sub("", text))


def style() -> str:
    """The style sheets of a page, in the order of their names."""
    return "\n".join(item.read_text("utf-8") for item in _sorted(ASSETS / "css", ".css"))


def _sorted(folder: Path, suffix: str) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted((item for item in folder.iterdir() if item.name.endswith(suffix)), key=lambda item: item.name)
