"""What the program may change while we go through it is copied first.

``list(d.items())`` makes a pair for each item; the collector may run then, and a finaliser of the program may import a module.
``d.copy()`` makes nothing in between.
"""

from __future__ import annotations

import re
from pathlib import Path

import depyf

SOURCE = Path(depyf.__file__).parent
OTHERS = re.compile(r"\b(?:sys\.modules|f_globals)\.items\(\)")


def test_what_others_change_is_copied_first() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{number}: {line.strip()}"
        for path in sorted(SOURCE.rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if OTHERS.search(line)
    ]
    assert found == []
