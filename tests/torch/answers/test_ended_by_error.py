"""The exception that ends a program, or leaves a block, stands first, with its line and what ran then."""

from __future__ import annotations

import json
import linecache
import subprocess
import sys

import pytest
import torch

import depyf
from depyf.run.observations.all_observations import observations_of
from depyf.run.observations.observation import ObservationKind
from depyf.run.program_calls.program_error import RaisedIn
from depyf.run.store.loading import load

pytestmark = pytest.mark.torch

HEAD = "import torch\n@torch.compile(backend='eager')\ndef f(x):\n    return x + 1\n"
PROGRAMS = {
    "its own": (
        "f(torch.ones(2))\nraise KeyError('lost')  # here\n",
        "KeyError: 'lost'",
        RaisedIn.PROGRAM,
    ),
    "a call that torch cannot look into": (
        "@torch.compiler.disable\ndef check(y):\n    raise ValueError('bad shape')  # here\n"
        "@torch.compile(backend='eager')\ndef g(x):\n    return check(x * 2)\ng(torch.ones(2))\n",
        "ValueError: bad shape",
        RaisedIn.COMPILED,
    ),
    "what is caught is not it": (
        "@torch.compile(backend='eager', fullgraph=True)\ndef g(x):\n    print(x)\n    return x\n"
        "try:\n    g(torch.ones(2))\nexcept Exception:\n    pass\nraise OSError('disk')  # here\n",
        "OSError: disk",
        RaisedIn.PROGRAM,
    ),
}


def recorded(text, tmp_path):
    """The run of a program under ``depyf run``, and its output."""
    script = tmp_path / "program.py"
    script.write_text(HEAD + text)
    done = subprocess.run(
        [sys.executable, "-m", "depyf", "run", "--out", str(tmp_path / "dump"), str(script)],
        capture_output=True,
        text=True,
        timeout=500,
    )
    return load(tmp_path / "dump"), done


def ended(run):
    return [one for one in observations_of(run) if one.kind is ObservationKind.ENDED]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_error_that_ended_the_program(name, tmp_path):
    text, said, raised_in = PROGRAMS[name]
    run, done = recorded(text, tmp_path)
    assert done.returncode == 1
    assert run.ended_by is not None and run.ended_by.text == said and run.ended_by.raised_in is raised_in
    (one,) = ended(run)
    line = (HEAD + text).split("\n").index(next(row for row in (HEAD + text).split("\n") if "# here" in row)) + 1
    assert one.place is not None and one.place.line == line and said in one.text
    assert f"program.py:{line}" in done.stderr.partition("Fix first")[2].split("\n2.")[0]


def test_what_failed_to_compile_is_told_once(tmp_path):
    run, done = recorded(
        "@torch.compile(backend='eager', fullgraph=True)\ndef g(x):\n    print(x)\n    return x\ng(torch.ones(2))\n",
        tmp_path,
    )
    assert done.returncode == 1 and run.errors == 1
    assert run.ended_by is not None and run.ended_by.raised_in is RaisedIn.COMPILING
    assert not ended(run)


@pytest.mark.parametrize("text", ["f(torch.ones(2))\n", "import sys\nf(torch.ones(2))\nsys.exit(3)\n"])
def test_no_error_ended_it(text, tmp_path):
    run, done = recorded(text, tmp_path)
    assert (0 if run.ended_by is None else run.ended_by.status) == done.returncode and not ended(run)


@pytest.mark.parametrize(("code", "told"), [("3", "3"), ("'no data'", "1: no data"), ("True", "1"), ("[2]", "1")])
def test_a_status_that_ended_it_before_it_compiled_stands_first(code, told, tmp_path):
    run, done = recorded(f"import sys\nsys.exit({code})\n", tmp_path)
    assert [one.text for one in observations_of(run)] == [f"the program ended here with exit status {told}"]
    assert run.ended_by is not None and run.ended_by.status == done.returncode
    assert f"program.py:6 `sys.exit({code})`: the program ended here" in done.stderr


@pytest.mark.parametrize("code", ["", "0", "None", "False"])
def test_a_status_of_success_is_no_error(code, tmp_path):
    run, _ = recorded(f"import sys\nsys.exit({code})\n", tmp_path)
    assert run.ended_by is None and not ended(run)


def test_what_was_not_reached_is_not_called_unused(tmp_path):
    late = "@torch.compile(backend='eager')\ndef late(x):\n    return x\n"
    run, _ = recorded(f"{late}f(torch.ones(2))\nraise KeyError(1)\nlate(torch.ones(2))\n", tmp_path)
    kinds = {one.kind for one in observations_of(run)}
    assert ObservationKind.NEVER_CALLED not in kinds and ObservationKind.ENDED in kinds


def test_a_backward_of_a_backward(tmp_path):
    """torch makes none: the function that asks for it is named."""
    torch.manual_seed(0)
    net = torch.nn.Linear(3, 1)

    def penalty(x):
        (slope,) = torch.autograd.grad(net(x).tanh().sum(), x, create_graph=True)
        return (slope.norm() - 1) ** 2

    def loss(x):
        return net(x).sum() + penalty(x)

    x = torch.ones(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError), depyf.prepare_debug(tmp_path / "dump"):
        torch.compile(loss, backend="aot_eager")(x).backward()
    run = load(tmp_path / "dump")
    (one,) = ended(run)
    assert "backward of its backward" in one.text and "@torch.compiler.disable on `penalty`" in one.ways[0]
    torch.compiler.reset()

    followed = torch.compiler.disable(penalty)
    torch.compile(lambda x: net(x).sum() + followed(x), backend="aot_eager")(x).backward()


def test_nothing_of_the_program_is_called_and_no_line_kept(tmp_path):
    """An exception may do anything when it is asked for its text."""
    file = tmp_path / "loud.py"
    file.write_text(
        "asked = []\nclass Loud(RuntimeError):\n    def __str__(self):\n        asked.append(self)\n        return 'said'\n"
        "class Part:\n    __repr__ = __str__ = lambda self: asked.append(self) or 'said'\n"
        "def boom(error):\n    raise error\n"
    )
    names: dict = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    given = (names["Loud"](), names["Loud"]("given"), ValueError(names["Part"]()), OSError(2, "gone", names["Part"]()))
    known = set(linecache.cache)
    found = []
    for number, error in enumerate(given):
        try:
            with depyf.prepare_debug(tmp_path / str(number)):
                names["boom"](error)
        except Exception as caught:
            assert caught is error
        found.append(load(tmp_path / str(number)).ended_by)
    assert [one.text for one in found] == ["Loud", "Loud: given", "ValueError", "FileNotFoundError"]
    assert all(one.place.line == 9 and one.place.text == "raise error" for one in found)
    assert names["asked"] == [] and str(file) not in set(linecache.cache) - known


def test_it_is_in_the_manifest(tmp_path):
    with pytest.raises(ZeroDivisionError), depyf.prepare_debug(tmp_path / "dump"):
        torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
        1 / 0
    manifest = json.loads((tmp_path / "dump" / "manifest.json").read_text())
    first = manifest["observations"][0]
    assert first["kind"] == "ended by an error" and "ZeroDivisionError" in first["text"]
    with depyf.prepare_debug(tmp_path / "dump"):
        torch.compile(lambda x: x + 2, backend="eager")(torch.ones(2))
    assert load(tmp_path / "dump").ended_by is None
