"""``guards.json``, ``shapes.json``, ``memory.json``: the pages as data, and the values that guards look at now."""

from __future__ import annotations

import json

import pytest
import torch

import depyf

pytestmark = pytest.mark.torch
steps = 0


class Loud:
    """Tells of every look at it that runs its code."""

    heard: list[str] = []

    def __init__(self):
        self.scale = 2.0

    def __eq__(self, other):
        Loud.heard.append("==")
        return True

    def __repr__(self):
        Loud.heard.append("repr")
        return "Loud"


loud = Loud()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dump")

    def step(x, w):
        global steps
        steps += 1
        if steps > 100:  # else torch 2.15 keeps no value of it
            x = x + 1
        return torch.tanh(x @ w).sum() * loud.scale

    torch._dynamo.reset()
    compiled = torch.compile(step, backend="aot_eager")
    w = torch.ones(4, 4, requires_grad=True)
    with depyf.prepare_debug(folder):
        for rows in (3, 5, 6):
            compiled(torch.ones(rows, 4), w).backward()
        Loud.heard.clear()
    found = {
        name: json.loads((folder / f"{name}.json").read_text()) for name in ("guards", "shapes", "memory", "manifest")
    }
    return {**found, "heard": list(Loud.heard)}


def test_each_guard_is_there_once_with_its_line(data):
    guards, entries = data["guards"]["guards"], data["guards"]["entries"]
    assert len({json.dumps(guard) for guard in guards}) == len(guards)
    assert [entry["compile_id"] for entry in entries] and all(entry["state"] == "live" for entry in entries)
    counts = {e["compile_id"]: e["guards"] for f in data["manifest"]["functions"] for e in f["entries"]}
    assert all(counts[entry["compile_id"]] == len(entry["guards"]) for entry in entries)
    counted = [guard for guard in guards if "G['steps']" in guard["expression"]]
    assert counted and all(guard["at"].startswith(__file__) for guard in counted)


def test_values_reached_from_globals_are_those_of_now(data):
    counted = [guard for guard in data["guards"]["guards"] if guard["expression"].startswith("same_value(G['steps']")]
    assert {guard["value"] for guard in counted} == {"3"}
    assert not any(guard["holds"] for guard in counted)
    assert not any("value" in guard for guard in data["guards"]["guards"] if "L['x']" in guard["expression"])


def test_looking_at_values_runs_nothing_of_the_program(data):
    assert data["heard"] == []


def test_sizes_say_what_they_may_be(data):
    (function,) = data["shapes"]["functions"]
    rows = [row for row in function["sizes"] if row["input"] == "x" and row["dimension"] == "0"]
    assert [(row["may_be"], row["constant"]) for row in rows] == [("3", True), ("2 or more", False)]
    assert function["frame"] == {"compile_id": "0", "generation": 0}


def test_what_is_kept_is_in_bytes_with_its_line(data):
    kept = {graph["compile_id"]: graph["kept"] for graph in data["memory"]["graphs"]}
    tensors = kept["0/0"]["tensors"]
    assert kept["0/0"]["bytes"] == sum(t["bytes"] for t in tensors if t["kind"] == "computed") > 0
    assert any(tensor.get("at", "").startswith(__file__) for tensor in tensors)
