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

directory, way = sys.argv[1:3]
with depyf.prepare_debug(directory):
    made = torch.compile(scaled, fullgraph=True, backend="aot_eager").aot_compile(((torch.ones(3),), {}))
    called = torch.compile(at_a_call, backend="aot_eager")
    if way == "both":
        called(torch.ones(3))
    if way == "same":
        called = torch.compile(scaled, backend="aot_eager")
        called(torch.ones(3))
code, manager = made.fn.__code__, made._artifacts.guard_manager
held = dict(vars(manager))
with depyf.debug(*sys.argv[3:]):
    result = made(torch.ones(3)) if way != "other" else None
    if way == "same":
        called(torch.ones(3))
    try:
        made(torch.ones(4) if way == "other" else torch.ones(3))
    except RuntimeError as error:
        print("torch raised:", error)
assert way == "other" or torch.equal(result, scaled(torch.ones(3)))
assert vars(manager).keys() == held.keys()
assert made.fn.__code__ is code
print("LEFT")
"""


def run(tmp_path, commands="", way="ahead", *level, left=True):
    script = tmp_path / "program.py"
    script.write_text(SCRIPT)
    dump = tmp_path / "dump"
    options = ("-m", "pdb") if commands else ()
    environment = {} if commands else {"DEPYF_NO_PAUSE": "1"}
    done = run_python(str(script), str(dump), way, *level, stdin=commands, env=environment, options=options)
    assert done.returncode == 0 or commands, done.stderr
    assert not left or "LEFT" in done.stdout
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


def stops_in(dump, told):
    stops = re.findall(r"> (\S+?)\((\d+)\)\w", told)
    return [f"{file}:{line}" for file, line in stops if file.startswith(str(dump))]


def test_pdb_stops_in_the_page_then_in_what_runs(tmp_path):
    dump, _ = run(tmp_path)
    (page,) = dump.glob("full_code_for_scaled*.py")
    (code,) = dump.glob("__transformed_code_*_for_scaled.py")
    places = [
        f"{page}:{first_line(page, 'if guards_0_0(L, G)')}",
        f"{page}:{first_line(page, 'L[')}",
        f"{code}:{first_line(code, 'return __compiled_fn')}",
    ]
    breaks = [f"tbreak {place}" for place in places]
    _, told = run(
        tmp_path, "\n".join(["continue", *breaks, "continue", "p L", *["continue"] * 3, "quit", "quit"]) + "\n"
    )
    assert stops_in(dump, told)[:3] == places
    assert "'by': 2" in told


def test_a_call_that_fails_its_guards_is_followed_to_the_refusal(tmp_path):
    dump, _ = run(tmp_path)
    (page,) = dump.glob("full_code_for_scaled*.py")
    place = f"{page}:{first_line(page, '.refuse(L)')}"
    _, told = run(
        tmp_path, "\n".join(["continue", f"tbreak {place}", "continue", "continue", "quit", "quit"]) + "\n", "other"
    )
    assert stops_in(dump, told) == [place]
    assert "torch raised: GuardManager check failed" in told


def test_quitting_in_the_page_quits_the_program(tmp_path):
    dump, _ = run(tmp_path)
    (page,) = dump.glob("full_code_for_scaled*.py")
    place = f"{page}:{first_line(page, 'if guards_0_0(L, G)')}"
    commands = "\n".join(["continue", f"tbreak {place}", "continue", "quit", "quit"]) + "\n"
    _, told = run(tmp_path, commands, left=False)
    assert "LEFT" not in told


def test_what_is_printed_promises_that(tmp_path):
    _, told = run(tmp_path)
    assert "breakpoints in it stop whenever torch looks for compiled code" not in told
    assert (
        "scaled (0/0) was compiled ahead of time: breakpoints in full_code_for_*.py stop when it is called, "
        "those in __transformed_code_*.py when that code runs"
    ) in told


def test_beside_a_function_that_was_compiled_at_a_call(tmp_path):
    _, told = run(tmp_path, "", "both")
    assert "breakpoints in it stop whenever torch looks for compiled code" in told
    assert "scaled (0/0) was compiled ahead of time: breakpoints in full_code_for_*.py stop" in told
    assert "at_a_call" not in told


def test_both_ways_of_one_function_have_their_pages(tmp_path):
    dump, _ = run(tmp_path, "", "same")
    pages = sorted(dump.glob("full_code_for_scaled*.py"))
    places = [f"{page}:{first_line(page, '.enter(')}" for page in pages]
    assert len(places) == 2
    commands = (
        "\n".join(["continue", *(f"tbreak {place}" for place in places), *["continue"] * 3, "quit", "quit"]) + "\n"
    )
    _, told = run(tmp_path, commands, "same")
    assert sorted(stops_in(dump, told)) == places


def test_at_a_level_the_page_is_followed_and_it_runs_as_before(tmp_path):
    dump, told = run(tmp_path, "", "ahead", "aot")
    assert (
        "scaled (0/0) was compiled ahead of time, and not again: breakpoints in full_code_for_*.py stop when it is "
        "called, and no others"
    ) in told
    (page,) = dump.glob("full_code_for_scaled*.py")
    place = f"{page}:{first_line(page, 'if guards_0_0(L, G)')}"
    commands = "\n".join(["continue", f"tbreak {place}", "continue", "continue", "quit", "quit"]) + "\n"
    assert stops_in(dump, run(tmp_path, commands, "ahead", "aot")[1]) == [place]
