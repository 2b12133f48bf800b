"""A conversion that nothing formats (3.13): the text formats what it gives, and the verdict says what that assumes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from depyf.decompiler.verify.assumptions import PLAIN_NOTE
from needs import need

ROOT = Path(__file__).parents[4]

PROGRAM = """
import dis
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.driver.pipeline import decompile_unit
def f(x):
    return f"{x!r}"
code = f.__code__.co_code
lone = bytearray(code)
for i in range(0, len(code), 2):
    if code[i] == dis.opmap["FORMAT_SIMPLE"]:
        lone[i] = dis.opmap["NOP"]
for body in (code, bytes(lone)):
    verdict = decompile_unit(CodeUnit.from_code(f.__code__.replace(co_code=body))).verdicts[0]
    print(verdict.proven, verdict.reason)
"""


def test_a_lone_conversion_names_its_assumption() -> None:
    python = need("3.13")
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([python, "-c", PROGRAM], capture_output=True, text=True, env=environment, check=False)
    usual, lone = done.stdout.splitlines() or [done.stderr, ""]
    assert usual.startswith("True") and PLAIN_NOTE not in usual
    assert lone.startswith("True") and PLAIN_NOTE in lone
