"""Transformed code in a log of torch: decompiled where torch's disassembly of it is complete."""

from __future__ import annotations

import dis
import platform
import sys
from pathlib import Path

import pytest

from depyf.actions.opened.opened_log import write_log_dump
from trace_logs import TraceLog

NAME = "torch_dynamo_resume_in_f_at_2"
ORIGINAL = f"""
def {NAME}(__nested, ___stack0, x, n):
    print(___stack0)
    return x * n
"""
MADE = f"""
def {NAME}(__nested, ___stack0, x, n):
    print(___stack0)
    graph_out_0 = __compiled_fn_3_0b1b2b3b_0000_0000_0000_000000000000(x)
    return graph_out_0[0]
"""


def printed(text: str, change: tuple[str, str] = ("", "")) -> str:
    scope: dict[str, object] = {}
    exec(compile(text, "f.py", "exec"), scope)
    code = scope[NAME].__code__  # type: ignore[attr-defined]
    return dis.Bytecode(code).dis().replace(*change) if change[0] else dis.Bytecode(code).dis()


def dump_of(tmp_path: Path, made: str, version: str = platform.python_version()) -> dict[str, str]:
    """The pages of a log with one compilation of the rest of a function."""
    log = TraceLog()
    log.artifact(f"{NAME}_ORIGINAL_BYTECODE", printed(ORIGINAL), "0/0")
    log.artifact(f"{NAME}_MODIFIED_BYTECODE", made, "0/0")
    log.compiled("0/0", str(tmp_path / "f.py"), python_version=f"{version} (main)", co_name=NAME)
    write_log_dump(log.write(tmp_path / "logs" / "a.log"), tmp_path / "dump")
    return {path.name: path.read_text() for path in (tmp_path / "dump").glob("__*")}


def test_a_complete_disassembly_is_decompiled_and_proven(tmp_path):
    pages = dump_of(tmp_path, printed(MADE))
    page = next(text for name, text in pages.items() if name.startswith("__transformed_code_0_0_for_"))
    assert "# Verdict: EQUIVALENT (proven)" in page or "# Verdict: IDENTICAL (proven)" in page
    assert (
        "    print(___stack0)  # f.py:3\n    graph_out_0 = __compiled_fn_0_0(x)  # f.py:4\n    return graph_out_0[0]"
        in page
    )
    assert "def __transformed_code_0_0_for_" in page
    assert "torch's disassembly in a log" in page and "LOAD_FAST" not in page
    original = next(text for name, text in pages.items() if name.startswith("__original_code_0_"))
    assert "    print(___stack0)\n    return x * n" in original


@pytest.mark.parametrize("change", [("(print)", "(print"), ("(0)", "(<object object>)"), ("STORE_FAST", "STORE_QUICK")])
def test_what_is_not_complete_stays_a_disassembly(tmp_path, change):
    if change[0] not in printed(MADE) and change[0] == "(print)":
        change = (change[0].replace("(print)", "print)" if sys.version_info < (3, 13) else "(print "), "(")
    if change[0] not in printed(MADE):
        pytest.skip("this Python writes it otherwise")
    page = next(t for name, t in dump_of(tmp_path, printed(MADE, change)).items() if name.startswith("__transformed"))
    assert "# Verdict: none, it could not be decompiled." in page and "is not complete" in page
    assert "# Dynamo's bytecode:" in page and "LOAD_FAST" in page


def test_a_log_of_an_unknown_python(tmp_path):
    page = next(t for name, t in dump_of(tmp_path, printed(MADE), "3.99.0").items() if name.startswith("__transformed"))
    assert "bytecode of CPython 3.99 is not supported" in page
