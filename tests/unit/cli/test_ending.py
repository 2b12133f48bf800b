"""SIGTERM ends a command that runs programs as Ctrl-C does, and what was measured until then is kept."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from depyf.actions.doctor import tries
from depyf.actions.doctor.trial import DoctorProgram, Measured
from depyf.actions.doctor.ways import PlannedWay
from depyf.cli.programs.ending import ended_as_interrupted

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGTERM that can be sent")


def test_a_signal_interrupts_the_block() -> None:
    with pytest.raises(KeyboardInterrupt), ended_as_interrupted():
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_who_listens_already_is_left_alone() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
    try:
        with ended_as_interrupted():
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.1)
        assert heard == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)


def plan(monkeypatch: pytest.MonkeyPatch, runs: list[Measured]) -> None:
    monkeypatch.setattr(tries, "ways_out", lambda causes, more: [PlannedWay(()), PlannedWay(())])
    monkeypatch.setattr(tries, "more_advice", lambda dump: ())
    monkeypatch.setattr(tries, "run_once", lambda *args, **options: runs.pop(0))


def test_what_was_tried_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    whole, cut = Measured(0, seconds=1.0), Measured(0, interrupted=True)
    plan(monkeypatch, [whole, whole, cut])
    found = tries.try_ways(DoctorProgram("p.py", (), False), whole, tmp_path, tmp_path)
    assert found.interrupted and len(found.ways) == 1 and found.left_out == 1


def test_where_nothing_was_tried_there_is_nothing_to_keep(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    whole, cut = Measured(0, seconds=1.0), Measured(0, interrupted=True)
    plan(monkeypatch, [whole, cut])
    with pytest.raises(KeyboardInterrupt):
        tries.try_ways(DoctorProgram("p.py", (), False), whole, tmp_path, tmp_path)
