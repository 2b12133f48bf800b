"""``tools/fuzz/dispatch.py``: what ``depyf.why`` says is what happens, and an answer that does not hold is found."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

pytest.importorskip("torch")

from tools.fuzz.dispatch import _wrong, answers

pytestmark = pytest.mark.torch


@pytest.mark.parametrize("seed", range(6))
def test_answers_hold(seed):
    found = list(answers(seed))
    assert found and found == [None] * len(found)


def test_wrong_answers_are_told():
    none = SimpleNamespace(runs=None, otherwise="torch compiles another one", compiled_again=(), continues_in=())
    one = SimpleNamespace(runs="0/0", otherwise="", compiled_again=(), continues_in=())
    assert _wrong(none, "0/0", False, False, False) == "nothing was compiled"
    assert _wrong(one, "0/1", False, False, False) == "0/1 ran"
    assert _wrong(one, "0/0", True, True, False) == "another one was compiled"
    assert _wrong(one, "0/0", False, True, False) == "something was compiled inside"
    assert not _wrong(none, "0/1", True, True, False) and not _wrong(one, "0/0", False, False, False)
