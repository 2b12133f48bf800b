"""The call tree of a dump: compiled functions under the calls that led to them."""

from __future__ import annotations

import json
import re
import textwrap

import pytest
import torch

import depyf
from depyf.run.store.loading import load

pytestmark = pytest.mark.torch

PROGRAM = """
    import torch

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = torch.nn.Linear(4, 4)
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            y = self.lin(x)
            if y.sum().item() > 1e9:
                print("large")
            return y * 2

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.h = torch.nn.ModuleList(Block() for _ in range(2))

        def forward(self, x):
            for b in self.h:
                x = b(x)
            return x

    model = Model()

    @torch.compile(backend="eager", dynamic=False)
    def step(x):
        y = model(x)
        print(end="")
        return y + 1

    @torch.compiler.disable(recursive=False)
    def twice(x):
        return helper(helper(x))

    def helper(x):
        return x * 3

    @torch.compile(backend="eager")
    def other(x):
        return twice(x) + 1

    @torch.compile(backend="eager")
    def down(x, n):
        print(end="")
        return x if n == 0 else down(x + 1, n - 1)

    def main():
        for _ in range(2):
            step(torch.ones(2, 4))
        other(torch.ones(3))
        down(torch.ones(2), 2)
"""
PROGRAM = textwrap.dedent(PROGRAM)


def line(text):
    return next(n for n, found in enumerate(PROGRAM.splitlines(), 1) if found.strip() == text)


@pytest.fixture(scope="module")
def dump(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tree")
    path = folder / "program.py"
    path.write_text(PROGRAM)
    names: dict = {"__name__": "program"}
    exec(compile(PROGRAM, str(path), "exec"), names)
    torch._dynamo.reset()
    with depyf.prepare_debug(folder / "dump"):
        names["main"]()
    return folder / "dump"


def section(dump):
    text = (dump / "index.md").read_text()
    return re.search(r"## Call tree\n\n(.*?)\n\n", text, re.S)[1].splitlines()


def test_functions_stand_under_their_callers(dump):
    tree = [part.split(": ")[0] for part in section(dump)]
    at = {
        name: line(text)
        for name, text in {"b": "x = b(x)", "m": "y = model(x)", "t": "return helper(helper(x))"}.items()
    }
    shown = "\n".join(tree)
    assert f"  - `Model.forward`, called at line {at['m']} `y = model(x)`" in shown, shown
    assert f"    - `Block.forward`, called at line {at['b']} `x = b(x)`" in shown
    assert f"      - after the break at line {line('if y.sum().item() > 1e9:')}" in shown
    assert f"  - `helper`, called at line {at['t']} in `twice`" in shown
    assert f"- `step` (program.py:{line('def step(x):') - 1}), called at program.py:" in shown
    assert shown.count("`down`") == 1, "a function that calls itself stands once"


def test_ids_are_folded_with_their_states(dump):
    states = {part.split("`")[1]: part.rpartition(": ")[2] for part in section(dump) if "`" in part}
    assert states["step"] == "0/0 broke"
    assert re.fullmatch(r"\d+/0 ran as Python", states["Model.forward"])
    assert re.fullmatch(r"(\d+)/0 \.\.\. \1/3 broke", states["Block.forward"])
    assert re.fullmatch(r"\d+/0 ok", states["helper"])


def test_the_manifest_has_the_callers(dump):
    manifest = json.loads((dump / "manifest.json").read_text())
    block = next(found for found in manifest["functions"] if found["function"] == "Block.forward")
    chain = block["entries"][-1]["called_by"]
    assert [call["function"].rpartition(".")[2] for call in chain] == ["main", "step", "forward"]
    assert [call.get("frame") for call in chain] == [None, "0", "1"]
    assert chain[-1]["at"].endswith(f"program.py:{line('x = b(x)')}")


def test_verdicts_name_the_function_as_all_else_does(dump):
    manifest = json.loads((dump / "manifest.json").read_text())
    names = {verdict["function"] for file in manifest["files"] for verdict in file.get("verdicts", ())}
    assert {"step", "Model.forward", "Block.forward"} & names and "forward" not in names


def test_a_line_of_code_that_depyf_substituted(dump):
    """The frame of ``step`` runs the dumped text; the tree names the line of the program."""
    manifest = json.loads((dump / "manifest.json").read_text())
    assert any(found.get("substituted") and found["function"] == "step" for found in manifest["files"])
    assert not any(
        "__transformed_code" in call["at"]
        for function in manifest["functions"]
        for entry in function["entries"]
        for call in entry["called_by"]
    )


def test_after_a_reset_callers_are_those_of_before(tmp_path):
    """torch counts anew, and the function is found under both numbers."""
    path = tmp_path / "again.py"
    path.write_text("def f(x):\n    y = x + 1\n    print(end='')\n    return y * 2\n")
    names: dict = {"__name__": "again"}
    exec(compile(path.read_text(), str(path), "exec"), names)
    with depyf.prepare_debug(tmp_path / "dump"):
        for _ in range(2):
            torch._dynamo.reset()
            torch.compile(names["f"], backend="eager")(torch.ones(3))
    run = load(tmp_path / "dump")
    called = {entry.key.label: entry.callers[-1].function for function, entry in run.entries if function.resume_of}
    assert called == {"1/0": (0, "0"), "1/0 (after reset 1)": (1, "0")}
