"""A folder that anybody may have written: all panels are made of what there is, and the rest is told."""

from __future__ import annotations

import copy
import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from depyf.run.files.reading import DumpError
from depyf.views.report.dump_view import DumpView
from depyf.views.report.panels.all_panels import PANELS
from depyf.views.report.trace import trace_text
from made_dumps import caller, compilation, function, run_dump

DUMPS = Path(__file__).parents[2] / "run" / "store" / "dumps"
WRONG = (
    None,
    True,
    -1,
    10**30,
    1e308,
    float("nan"),
    "",
    "\x00</script>",
    "9" * 5000,
    "0/0",
    "f" * 200,
    [],
    {},
    [[]],
    "**" * 99,
)


def shown(view: DumpView) -> list[Any]:
    """What all panels are given; it is JSON, as browsers read it."""
    found = [panel.build(view, None) for panel in PANELS]
    json.dumps(found, allow_nan=False)
    try:
        trace_text(view)
    except DumpError:
        pass  # without times
    return found


def leaves(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in items:
        yield (*way, name)
        yield from leaves(inner, (*way, name))


@pytest.mark.parametrize("name", ["finished", "killed"])
def test_any_value_in_the_place_of_another(tmp_path: Path, name: str) -> None:
    shutil.copytree(DUMPS / name, tmp_path / "dump")
    rng = random.Random(0)
    lines = [json.loads(line) for line in (DUMPS / name / "run.jsonl").read_text().splitlines()]
    ways = [(number, *way) for number, line in enumerate(lines) for way in leaves(line)]
    refused = 0
    for way in rng.sample(ways, 150):
        page = copy.deepcopy(lines)
        inner: Any = page
        for step in way[:-1]:
            inner = inner[step]
        inner[way[-1]] = rng.choice(WRONG)
        (tmp_path / "dump" / "run.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in page))
        view = DumpView(tmp_path / "dump")
        shown(view)
        refused += bool(view.missing)
    assert refused


def test_the_run_of_a_dump_that_is_damaged_is_told_and_its_files_are_shown(tmp_path: Path) -> None:
    folder = run_dump(tmp_path, function("0", "f", 1, compilation("0/0")))
    (folder / "run.jsonl").write_text("{")
    view = DumpView(folder)
    assert ["run.jsonl" in line for line in view.missing] == [True] and view.files and not view.known
    assert [panel for panel in shown(view) if panel is not None] == []


def test_a_run_that_was_killed_is_said_to_be(tmp_path: Path) -> None:
    """Its pages were made by ``depyf index``."""
    made = function("0", "f", 1, compilation("0/0"))
    whole, killed = (DumpView(run_dump(tmp_path / str(end), made, finished=end)) for end in (True, False))
    assert whole.missing == [] and ["ended before" in line for line in killed.missing] == [True]


def test_no_file_of_the_program_is_read(tmp_path: Path) -> None:
    """The dump may name any file: of the lines that it names it has the texts, or they are not shown."""
    program = tmp_path / "a.py"
    program.write_text("secret = 1\n")
    call = caller(1)
    made = function("0", "f", 1, compilation("0/0", failed="gone", callers=(call,)))
    folder = run_dump(tmp_path / "dump", made)
    text = (folder / "run.jsonl").read_text()
    (folder / "run.jsonl").write_text(text.replace('"a.py"', json.dumps(str(program))))
    assert "secret" not in json.dumps(shown(DumpView(folder)))


@pytest.mark.parametrize("name", ["notes.md", "train.py", "index.md", "__init__.py", "kernel.cpp"])
def test_a_folder_of_other_files_is_no_dump(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("x = 1\n")
    with pytest.raises(DumpError, match="is no dump of depyf"):
        DumpView(tmp_path)
    (tmp_path / "__compiled_fn_0_0.Captured_Graph.0.py").write_text("x = 1\n")
    assert not DumpView(tmp_path).listed
