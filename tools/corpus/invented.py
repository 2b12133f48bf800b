"""Functions whose decompiled text shows a name that is not in the source: a temporary, a flag, a dispatch variable.

    python -m tools.corpus.invented corpus_out/3.13/src              counts below a folder of decompiled text
    python -m tools.corpus.invented corpus_out/3.13/src --show 20    and the text of twenty of them

``tools/corpus/corpus.py`` counts the same in each sweep and lists them in ``invented.jsonl``.  The text is read line by line,
not parsed: it may be that of a version the host cannot parse.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

INVENTED = re.compile(r"\b__temp_+\d+\b")
_HEAD = re.compile(r"( *)(?:async def|def|class) (\w+)")


@dataclass(frozen=True)
class Shown:
    """One function with such names: ``lines`` are its first and last line in the text, counted from 0."""

    qualname: str
    lines: tuple[int, int]


def invented(text: str) -> list[Shown]:
    """The innermost functions (or class bodies, or the module) that show an invented name, in the order of the text."""
    if not INVENTED.search(text):
        return []
    lines = text.split("\n")
    open_heads: list[tuple[int, str, int]] = []
    found: dict[tuple[str, int], tuple[int, int]] = {}
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        indent = len(line) - len(line.lstrip(" "))
        while open_heads and indent <= open_heads[-1][0] and line[indent] not in ")]}":
            open_heads.pop()
        head = _HEAD.match(line)
        if head:
            open_heads.append((len(head[1]), head[2], number))
        if INVENTED.search(line):
            name = ".".join(name for _, name, _ in open_heads) or "<module>"
            found.setdefault((name, open_heads[-1][2] if open_heads else 0), (0, 0))
    return [Shown(name, (start, _end(lines, start) if name != "<module>" else len(lines))) for name, start in found]


def _end(lines: list[str], start: int) -> int:
    indent = len(lines[start]) - len(lines[start].lstrip(" "))
    for number in range(start + 1, len(lines)):
        line = lines[number]
        inside = len(line) - len(line.lstrip(" ")) > indent
        if line.strip() and not inside and not line.startswith((")", "]", "}"), indent):
            return number
    return len(lines)


def _texts(folder: Path) -> Iterator[tuple[Path, str]]:
    for path in sorted(folder.rglob("*.py")):
        yield path, path.read_text()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--show", type=int, default=0, help="print the text of this many")
    options = parser.parse_args()
    total = 0
    for path, text in _texts(options.folder):
        for shown in invented(text):
            total += 1
            print(f"{path.relative_to(options.folder)}: {shown.qualname}")
            if total <= options.show:
                print("\n".join(text.split("\n")[slice(*shown.lines)]))
    print(f"{total} functions with an invented name")
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
