"""Keep what one pass does to one function as a case of ``tests/passes``.

    python -m tools.cases.passcase PASS FILE.py:QUALNAME NAME [--version 3.11] [--rung READABLE]

The file is compiled by the interpreter of that version.  The case holds the function's source, its bytecode as a listing, and the
artifact that the pass changes, before and after it.  Exit status 1: the pass has nothing to do there.
"""

from __future__ import annotations

import argparse
import ast
import sys
from pathlib import Path

from tools import ROOT

sys.path.insert(0, str(ROOT / "tests" / "support"))

from depyf.decompiler.bytecode.codeunit import CodeUnit, units
from depyf.decompiler.driver.rungs import Rung
from pass_cases import FOLDER, PassCase, artifacts, cases_of, write_cases
from unit_listing import listing


def made(step: str, name: str, unit: CodeUnit, rung: Rung, source: str = "") -> PassCase:
    """The case of ``unit``; SystemExit where the pass changes nothing."""
    for passed, before, after in artifacts(unit, rung):
        if passed == step and before != after:
            return PassCase(step, name, unit.version, rung, source, listing(unit) + "\n", before, after)
    raise SystemExit(f"{step} has nothing to do in {unit.qualname} on {rung.name}")


def keep(case: PassCase) -> None:
    """Add ``case`` to the file of its pass, or replace the one of its name."""
    path = FOLDER / f"{case.step}.txt"
    cases = cases_of(path) if path.exists() else []
    path.parent.mkdir(exist_ok=True)
    write_cases(path, [*(other for other in cases if other.name != case.name), case])


def source_of(text: str, unit: CodeUnit) -> str:
    """The lines of a function or class, dedented; nothing where there are none that are its alone."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name == unit.name:
            first = min([node.lineno, *(other.lineno for other in node.decorator_list)])
            if unit.firstlineno in (first, node.lineno):
                lines = text.splitlines()[node.lineno - 1 : node.end_lineno]
                return "".join(f"{line[node.col_offset :]}\n" for line in lines)
    return ""


def main() -> int:
    from foreign import compiled_text

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", metavar="PASS")
    parser.add_argument("target", metavar="FILE.py:QUALNAME")
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("--version", default="3.11")
    parser.add_argument("--rung", default="READABLE", choices=Rung.__members__)
    options = parser.parse_args()
    file, _, qualname = options.target.rpartition(":")
    text = Path(file).read_text(encoding="utf-8")
    found = [unit for unit in units(compiled_text(options.version, text)) if unit.qualname == qualname]
    if not found:
        parser.error(f"{file} has no {qualname}")
    keep(made(options.step, options.name, found[0], Rung[options.rung], source_of(text, found[0])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
