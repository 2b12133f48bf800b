"""The part of ``harness.py`` and ``modes.py`` that a script needs, as text.

Input: the text of the rest of the script.  Output: the definitions that it uses, and those that these use, in the order
of the file; and the standard library imports they need.  ``harness.py`` is read, not imported: it needs torch.
"""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

_GALLERY = Path(__file__).parents[2] / "actions" / "gallery"
HARNESS = _GALLERY / "harness.py", _GALLERY / "modes.py", _GALLERY / "stored_tensors.py"
_ANNOTATION = re.compile(r"\b(?:Any|Callable|Iterator)\b")


@functools.cache
def _definitions() -> dict[str, tuple[str, frozenset[str]]]:
    """Name -> text of the definition, and the words in it."""
    found = {}
    for path in HARNESS:
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        for node in ast.parse(text).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
                body = "\n".join(lines[first - 1 : node.end_lineno])
                found[node.name] = (body, frozenset(re.findall(r"\w+", body)))
    return found


def harness_text(rest: str) -> tuple[str, list[str]]:
    """The definitions that ``rest`` needs, and import lines for them."""
    definitions = _definitions()
    wanted = set(re.findall(r"\w+", rest)) & set(definitions)
    queue = list(wanted)
    while queue:
        for name in definitions[queue.pop()][1] & set(definitions) - wanted:
            wanted.add(name)
            queue.append(name)
    text = "\n\n\n".join(body for name, (body, _) in definitions.items() if name in wanted)
    both = text + rest
    modules = ("base64", "contextlib", "json", "math", "operator", "warnings")
    imports = [f"import {module}" for module in modules if re.search(rf"(?<![\w.]){module}\.\w", both)]
    typing = [name for name in ("Callable", "Iterator") if re.search(rf"\b{name}\[", both)]
    if typing:
        imports.append(f"from collections.abc import {', '.join(typing)}")
    if re.search(r"\bPath\(", both):
        imports.append("from pathlib import Path")
    if re.search(r"\bAny\b", both):
        imports.append("from typing import Any")
    return text, imports
