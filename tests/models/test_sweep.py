"""The sweep itself: what a model does to its process costs one line, and a sweep goes on where it ended."""

from __future__ import annotations

import faulthandler
import json
import os
import time

import pytest

from tools.torch.models import published, sweep, table
from tools.torch.models.checks import same
from tools.torch.models.rows import BACKENDS, MODES, Row
from tools.torch.models.shrink import shrink

ROWS = [Row(name, "torchbench", "own", name) for name in ("aborts", "sleeps", "raises", "eats")]


def _abort():
    faulthandler.disable()  # the crash is meant
    os.abort()


def _sleep():
    time.sleep(900)


def _eat():
    return bytearray(1 << 40)


def _raise():
    raise LookupError("no such weights")


@pytest.mark.parametrize(
    ("make", "seconds", "status", "reason"),
    [
        (_abort, 600, "crash", "SIGABRT"),
        (_sleep, 0.5, "timeout", "0 s"),
        (_eat, 600, "torch", "MemoryError"),
        (_raise, 600, "torch", "LookupError"),
    ],
)
def test_a_model_costs_one_line(make, seconds, status, reason, monkeypatch, tmp_path):
    monkeypatch.setitem(published.MODELS, "bad", make)
    task = sweep.Task(Row("bad", "torchbench", "own", "bad"), "inference", "eager")
    found = sweep.run_forked(task, seconds, tmp_path / "log.txt")
    assert found["status"] == status
    assert reason in found["reason"]
    assert (found["model"], found["mode"], found["backend"]) == task.key


def test_shards_cover_everything_once():
    whole = sweep.tasks(ROWS, MODES, BACKENDS)
    parts = [task for shard in (1, 2, 3) for task in sweep.tasks(ROWS, MODES, BACKENDS, (shard, 3))]
    assert sorted(task.key for task in whole) == sorted(task.key for task in parts)
    assert len(whole) == len(ROWS) * len(MODES) * len(BACKENDS)


def test_resume(tmp_path):
    """The last line of a task counts, another version's does not, half a line is not one."""
    line = {"model": "a", "mode": "inference", "backend": "eager", "status": "crash", "version": "1"}
    path = tmp_path / "results.jsonl"
    path.write_text(
        "\n".join(
            [
                json.dumps(line),
                json.dumps(line | {"status": "ok"}),
                json.dumps(line | {"model": "b", "version": "2"}),
                '{"mod',
            ]
        )
    )
    assert {key: item["status"] for key, item in sweep.earlier(path, "1").items()} == {
        ("a", "inference", "eager"): "ok"
    }
    assert len(sweep.earlier(path, None)) == 2
    assert sweep.earlier(tmp_path / "none.jsonl", "1") == {}


def test_table():
    keys = [("aborts", "inference", "eager"), ("sleeps", "inference", "eager"), ("raises", "inference", "eager")]
    results = {
        keys[0]: {"status": "crash", "reason": "killed by SIGABRT"},
        keys[1]: {
            "status": "ok",
            "frames": 2,
            "graphs": 2,
            "graphs_run": 1,
            "ratio": 1.25,
            "verdicts": {"EQUIVALENT": 2},
        },
    }
    text = "\n".join(table.lines(ROWS, results, keys))
    assert "- aborts, inference, eager: crash: killed by SIGABRT" in text
    assert "| eager | inference | 3 | 2 | 1 | 2 | 0 | 1/2 | 1.25x | 1 crash |" in text


def test_same():
    import torch

    one = [("x", torch.tensor([0.0, float("nan")])), ("y", None)]
    assert same(one, [("x", torch.tensor([0.0, float("nan")])), ("y", None)]) == ""
    assert same(one, [("x", torch.tensor([-0.0, float("nan")])), ("y", None)]) == "x: values differ"
    assert "one of them is None" in same(one, [("x", one[0][1]), ("y", torch.zeros(1))])
    assert same(one, one[:1]) == "other outputs"
    assert "int64[2]" in same(one, [("x", torch.tensor([0, 1])), ("y", None)])


def test_shrink():
    """Nested configurations are shrunk too, and a row has the last word."""
    from transformers import Gemma3Config

    found = shrink(Gemma3Config, {"text_config.head_dim": 16, "mm_tokens_per_image": 4})
    assert found["text_config"]["head_dim"] == 16
    assert found["vision_config"]["image_size"] <= 32
    assert Gemma3Config(**found).text_config.num_hidden_layers == 2
