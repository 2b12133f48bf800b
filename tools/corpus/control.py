"""How much of a standard library the text of ``ast.unparse(ast.parse(source))`` brings back: the measure of ``corpus.py``.

What the source itself loses when it is printed without its layout, no decompiler can be asked for.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tools.env import interpreters

if TYPE_CHECKING:
    from depyf.decompiler.bytecode.codeunit import CodeUnit

PROGRAM = """
import ast, os, sys
sys.setrecursionlimit(20000)
root, out = sys.argv[1:3]
for name in sys.stdin.read().splitlines():
    target = os.path.join(out, name)
    if not os.path.exists(target):
        try:
            with open(os.path.join(root, name), "rb") as file:
                text = ast.unparse(ast.parse(file.read()))
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "w", encoding="utf-8", errors="surrogatepass") as file:
                file.write(text)
        except Exception:
            pass  # a file that is broken on purpose has no control
"""


def unparse(version: str, root: Path, names: list[str], out: Path) -> None:
    """Write the unparsed text of files below ``root`` to ``out``, by the version itself (3.8 cannot: by the host)."""
    python = Path(sys.executable) if version == "3.8" else interpreters.find(version)
    missing = [name for name in names if not (out / name).exists()]
    if missing:
        out.mkdir(parents=True, exist_ok=True)
        command = [str(python), "-W", "ignore", "-c", PROGRAM, str(root), str(out)]
        subprocess.run(command, input="\n".join(missing), text=True, check=True)


def identical_units(unit: CodeUnit, pyc: Path) -> int:
    """How many code objects of ``unit`` are the same instructions in ``pyc``; 0 where there is none."""
    from depyf.decompiler.bytecode.files.pyc import read_pyc
    from depyf.errors import DepyfError

    try:
        return _identical(unit, read_pyc(pyc))
    except (OSError, DepyfError):
        return 0


def _identical(unit: CodeUnit, control: CodeUnit) -> int:
    from depyf.decompiler.bytecode.lower import lower
    from depyf.decompiler.verify.identical import same_bytes, same_instructions

    pairs = same_bytes(unit, control)
    if pairs is None:
        pairs = same_instructions(lower(unit), lower(control))
    same = int(pairs is not None)
    if pairs is None:
        others = _nested(control)
        pairs = []
        for child in _nested(unit):
            namesake = next((other for other in others if other.name == child.name), None)
            if namesake is not None:
                others.remove(namesake)
                pairs.append((child, namesake))
    seen: set[int] = set()
    for left, right in pairs:
        if id(left) not in seen:
            seen.add(id(left))
            same += _identical(left, right)
    return same


def _nested(unit: CodeUnit) -> list[CodeUnit]:
    from depyf.decompiler.bytecode.codeunit import CodeUnit

    return [const for const in unit.consts if isinstance(const, CodeUnit)]
