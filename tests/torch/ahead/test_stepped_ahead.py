"""``depyf.debug()`` and what was compiled ahead of time: a real pdb stops where the printed text says that it does."""

from __future__ import annotations

import re

import pytest
from dumps import run_python

pytest.importorskip("torch._dynamo.aot_compile")
pytestmark = pytest.mark.torch

SCRIPT = """
import sys
import torch
import depyf

def scaled(x, by=2):
    y = x.sin() + 1
    return y * by

def at_a_call(x):
    return x + 1

directory, both = sys.argv[1], sys.argv[2] == "both"
with depyf.prepare_debug(directory):
    made = torch.compile(scaled, fullgraph=True, backend="aot_eager").aot_compile(((torch.ones(3),), {}))
    called = torch.compile(at_a_call, backend="aot_eager")
    if both:
        called(torch.ones(3))
code = made.fn.__code__
with depyf.debug(*sys.argv[3:]):
    result = made(torch.ones(3))
assert torch.equal(result, scaled(torch.ones(3)))
assert made.fn.__code__ is code
print("LEFT")
"""


def run(tmp_path, commands="", both="ahead", *level):
    script = tmp_path / "program.py"
    script.write_text(SCRIPT)
    dump = tmp_path / "dump"
    options = ("-m", "pdb") if commands else ()
    environment = {} if commands else {"DEPYF_NO_PAUSE": "1"}
    done = run_python(str(script), str(dump), both, *level, stdin=commands, env=environment, options=options)
    assert done.returncode == 0 or commands, done.stderr
    assert "LEFT" in done.stdout
    return dump, done.stdout


def first_line(path, text):
    return next(number for number, line in enumerate(path.read_text().splitlines(), 1) if text in line)


def test_pdb_stops_in_the_transformed_code_and_in_the_graph(tmp_path):
    dump, _ = run(tmp_path)
    (code,) = dump.glob("__transformed_code_*_for_scaled.py")
    (graph,) = dump.glob("*.Forward_graph.0.py")
    places = [f"{code}:{first_line(code, 'return __compiled_fn')}", f"{graph}:{first_line(graph, 'aten.sin')}"]
    breaks = [f"tbreak {place}" for place in places]
    _, told = run(tmp_path, "\n".join(["continue", *breaks, *["continue"] * 3, "quit", "quit"]) + "\n")
    stops = re.findall(r"> (\S+?)\((\d+)\)\w", told)
    assert [f"{file}:{line}" for file, line in stops if file.startswith(str(dump))] == places


def test_what_is_printed_promises_that_and_no_more(tmp_path):
    _, told = run(tmp_path)
    assert "breakpoints in it stop whenever torch looks for compiled code" not in told
    assert (
        "scaled (0/0) was compiled ahead of time: breakpoints in __transformed_code_*.py stop when that code runs, "
        "those in full_code_for_*.py do not"
    ) in told


def test_beside_a_function_that_was_compiled_at_a_call(tmp_path):
    _, told = run(tmp_path, "", "both")
    assert "breakpoints in it stop whenever torch looks for compiled code" in told
    assert "scaled (0/0) was compiled ahead of time: breakpoints in __transformed_code_*.py stop" in told
    assert "at_a_call" not in told


def test_at_a_level_it_runs_as_before(tmp_path):
    _, told = run(tmp_path, "", "ahead", "aot")
    assert "scaled (0/0) was compiled ahead of time, and not again: no breakpoint stops there" in told
