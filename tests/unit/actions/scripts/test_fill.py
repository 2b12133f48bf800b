"""The skeleton of a script, filled: every choice of conditions gives Python, and nothing of the skeleton is left."""

from __future__ import annotations

import ast
import itertools
import re

import pytest

from depyf.actions.gallery.script import render
from depyf.actions.scripts import fill
from depyf.actions.scripts.dumped_graphs import CAPTURED, CompiledGraph, StageFile

LINES = (
    "ABOUT",
    "EXIT",
    "NOTES",
    "STANDARD_LIBRARY",
    "LIBRARIES",
    "SYMBOLS",
    "CLASSES",
    "ENTERED",
    "CONSTANTS",
    "SEEDED",
    "HARNESS",
)
CONDITIONS = (
    "BUG",
    "RANDOM",
    "SHARED",
    "ASSERTS",
    "AOT",
    "BACKWARD",
    "OPERATORS",
    "DEVICES",
    "KEPT",
    "STRIDES",
    "ENTERED",
)


def values(**given):
    holes = fill._skeleton("graph_script")[2]
    return {
        **dict.fromkeys(holes, "value"),
        **{name: [f"line_{name.lower()}"] for name in LINES},
        "INPUTS": ['"x": 1,'],
        "SETTINGS": ['"y": 2,'],
        **given,
    }


@pytest.mark.parametrize("chosen", [*itertools.product([False, True], repeat=4)], ids=str)
def test_every_choice(chosen):
    for rest in itertools.product([False, True], repeat=len(CONDITIONS) - 4):
        conditions = dict(zip(CONDITIONS, [*chosen, *rest]))
        given = conditions | {"ENTERED": ["line"] if conditions["ENTERED"] else []}
        text = fill.fill("graph_script", values(**given))
        tree = ast.parse(text)
        assert not re.search(r"\n\n\n\n|\n\n\n +\S|[ \t]\n|\0", text)
        words = set(re.findall(r"\w+", text))
        assert not words & fill._skeleton("graph_script")[2] and "TYPE_CHECKING" not in words
        assert ast.get_docstring(tree) and text.endswith("sys.exit(main())\n")
        assert ("def targets(" in text) == conditions["BACKWARD"]
        assert ("run_aot(" in text) == (conditions["AOT"] and not conditions["BUG"])
        assert ("def compare(" in text) != conditions["BUG"]
        assert text.count("def main(") == 1 and "type: ignore" not in text
        assert ("ExitStack" in text) == conditions["ENTERED"]


def test_a_hole_needs_a_value():
    given = values()
    del given["TOLERANCE"]
    with pytest.raises(KeyError, match="TOLERANCE"):
        fill.fill("graph_script", given)


def test_what_is_put_in_is_left_as_it_is():
    """Words of a graph that look like holes, and its blank lines."""
    text = fill.fill(
        "graph_script", values(TITLE="AOT of MODE", CLASSES=["class RANDOM:", "", "", "", "    LABELS = 1"])
    )
    assert text.startswith('"""AOT of MODE\n')
    assert "class RANDOM:\n\n\n\n    LABELS = 1\n\n\n" in text


def test_operators_of_the_program_on_a_gpu():
    page = (
        "class GraphModule(torch.nn.Module):\n"
        '    def forward(self, L_x_: "f32[3][1]cuda:1"):\n'
        "        l_x_ = L_x_\n"
        '        y: "f32[3][1]cuda:1" = torch.ops.mine.twice(l_x_);  l_x_ = None\n'
        "        return (y,)\n"
    )
    text = render(CompiledGraph("0/0", 0, 0, "f", "f.py:1", {CAPTURED: StageFile("graph", page)}, torch="2.13")).text
    assert '    parser.add_argument("--import"' in text and 'missing(("mine.twice",))' in text
    assert '    if torch.cuda.device_count() < 2:\n        print("this graph was compiled for cuda:1,' in text


@pytest.mark.parametrize("holds", [False, True])
@pytest.mark.parametrize("name", sorted(path.stem for path in fill.SKELETONS.glob("package_*.py")))
def test_files_of_packages(name, holds):
    given = dict.fromkeys(fill._skeleton(name)[2], "value")
    given |= {"LOADS": holds, "ABOUT": ["about"], "KNOWN": ["known = 1"] * holds, "WANTED_NAMES": ['"a": "b",'] * holds}
    text = fill.fill(name, given)
    words = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    assert not words & {*given, "TYPE_CHECKING"} and "typing" not in text
    assert not re.search(r"\n\n\n\n|[ \t]\n|\0", text) and text.startswith('"""')
