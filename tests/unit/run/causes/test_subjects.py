"""What guards read, in the program's words."""

from __future__ import annotations

import pytest

from depyf.run.causes.subjects import subject_of


@pytest.mark.parametrize(
    ("guard", "text", "module"),
    (
        ("G['step_no'] == 3", "the global `step_no`", ""),
        ("L['self']._modules['h']._modules['0'].calls == 2", "self.h.0.calls", "h.0"),
        ("tensor 'x' size mismatch at index 1. expected 16, actual 17", "size 1 of `x`", ""),
        ("tensor 'x' rank mismatch. expected 2, actual 3", "the rank of `x`", ""),
        ("2 <= x.size()[0]", "size 0 of `x`", ""),
        ("(step % 5) != 0", "`step % 5`", ""),
        ("type_is(cfg, 'int')", "the type of `cfg`", ""),
        ("not items", "`len(items)`", ""),
        ("what no parser reads 12 [", "what no parser reads N [", ""),
    ),
)
def test_subject(guard: str, text: str, module: str) -> None:
    subject = subject_of(guard)
    assert (str(subject), subject.module) == (text, module)
    assert subject_of(guard.replace("16", "18").replace("== 3", "== 4")).key == subject.key
