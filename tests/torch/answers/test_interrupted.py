"""A program that is interrupted while torch compiles: the function is not one with nothing to compile."""

from __future__ import annotations

import pytest
import torch

import depyf
from depyf.run.causes.collect import causes_of
from depyf.run.records import EntryState
from depyf.run.store.loading import load

pytestmark = pytest.mark.torch


def interrupts(gm, inputs):
    raise KeyboardInterrupt


def ends(gm, inputs):
    raise SystemExit(3)


def f(x):
    return x + 1


def nothing(x):
    return 1


@pytest.mark.parametrize("backend, kind", [(interrupts, KeyboardInterrupt), (ends, SystemExit)])
def test_what_was_compiled_is_said(tmp_path, backend, kind):
    torch._dynamo.reset()
    with pytest.raises(kind), depyf.prepare_debug(tmp_path):
        torch.compile(f, backend=backend)(torch.ones(2))
    run = load(tmp_path)
    ((entry,),) = (function.entries for function in run.functions)
    assert entry.state is EntryState.FAILED
    (cause,) = causes_of(run)
    assert kind.__name__ in cause.text and "while torch compiled this" in cause.text
    assert "nothing to compile" not in (tmp_path / "index.md").read_text()


def test_what_is_compiled_after_an_interruption_is_not_interrupted(tmp_path):
    torch._dynamo.reset()
    with depyf.prepare_debug(tmp_path):
        try:
            torch.compile(f, backend=interrupts)(torch.ones(2))
        except KeyboardInterrupt:
            torch.compile(nothing, backend="eager")(torch.ones(2))
    states = {function.code.name: entry.state for function in load(tmp_path).functions for entry in function.entries}
    assert states == {"f": EntryState.FAILED, "nothing": EntryState.NOTHING}
