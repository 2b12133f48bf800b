"""The files between ``depyf doctor`` and the process that it starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from depyf.actions.doctor.trial_files import (
    FollowedAdvice,
    TrialResult,
    TrialSpec,
    read_result,
    read_trial,
    write_result,
    write_trial,
)
from depyf.run.advice.advice import AdviceUse


def test_what_is_written_is_read(tmp_path: Path) -> None:
    advice = FollowedAdvice(AdviceUse("mark-dynamic", (("tensor", "x"),)), "f")
    spec = TrialSpec("dump", "result.json", True, True, (3, 1.5), "skip_guard", (advice,))
    write_trial(tmp_path / "spec.json", spec)
    assert read_trial(tmp_path / "spec.json") == spec
    result = TrialResult(seconds=0.5, calls={"f": [[1.0, "a"]]}, state={"x": [2]})
    write_result(tmp_path / "result.json", result)
    assert read_result(tmp_path / "result.json") == result
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".part"] == []


def test_what_is_not_there_or_no_result_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    assert read_result(path) == TrialResult()
    for text in ("[]", "{", '{"seconds": "long"}'):
        path.write_text(text)
        assert read_result(path) == TrialResult()
    with pytest.raises(ValueError, match="folder"):
        path.write_text("{}")
        read_trial(path)


def test_what_json_does_not_know_leaves_no_file(tmp_path: Path) -> None:
    write_result(tmp_path / "result.json", TrialResult(calls={"f": [object()]}))
    assert not (tmp_path / "result.json").exists()
