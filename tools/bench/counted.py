"""Machine instructions that text and proof take, as multiples of ``ast.unparse(ast.parse(source))``: no other load changes them.

    python -m tools.bench.counted [MODULE ...]      # of the standard library; argparse, where none is named

With ``.venv-compiled/bin/python`` it counts the compiled build.  valgrind counts four processes, which do the same up to one
step: none, the control, the text, text and proof.  What is shown is how much more than the first each of the others takes, so
that no start, no import and no making of the bytecode is in it.  A minute or two for each.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

STEPS = ("", "ast.unparse(ast.parse())", "text", "text and proof")
CHILD = """
import ast, pathlib, sys, sysconfig
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.driver.pipeline import decompile_unit
from depyf.decompiler.options import Options
step, *names = sys.argv[1:]
library = pathlib.Path(sysconfig.get_path("stdlib"))
texts = [library.joinpath(*name.split(".")).with_suffix(".py").read_bytes() for name in ("abc", *names)]
units = [CodeUnit.from_code(compile(text, "<counted>", "exec", dont_inherit=True)) for text in texts]
def control(at): ast.unparse(ast.parse(texts[at]))
def text(at): decompile_unit(units[at], Options(verify=False))
def both(at): decompile_unit(units[at], Options())
for work in control, text, both:  # what is made once
    work(0)
work = {"1": control, "2": text, "3": both}.get(step)
for at in range(1, len(texts)):
    if work is not None:
        work(at)
"""
COLLECTED = re.compile(r"Collected : (\d+)")


def counted(step: int, modules: list[str]) -> int:
    """The machine instructions of a process that does one of ``STEPS``."""
    done = subprocess.run(
        [
            "valgrind",
            "--tool=callgrind",
            "--callgrind-out-file=/dev/null",
            sys.executable,
            "-c",
            CHILD,
            str(step),
            *modules,
        ],
        env={**os.environ, "PYTHONHASHSEED": "0"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    found = COLLECTED.search(done.stderr)
    if done.returncode or found is None:
        sys.exit(done.stderr)
    return int(found[1])


def main() -> int:
    if shutil.which("valgrind") is None:
        sys.exit("valgrind is not installed: it counts the instructions")
    from depyf.native import build

    modules = sys.argv[1:] or ["argparse"]
    print(f"{' '.join(modules)}, {build()} build, Python {sys.version.split()[0]}")
    before = counted(0, modules)
    control = 0
    for step in range(1, len(STEPS)):
        more = counted(step, modules) - before
        control = control or more
        print(f"{STEPS[step]:28}{more / 1e6:10.1f} million{more / control:8.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
