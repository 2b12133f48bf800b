"""A run that compiled nothing: whether torch.compile was left out, or the program did not come to it."""

from __future__ import annotations

import dataclasses

from depyf.run.observations.nothing_compiled import nothing_compiled
from depyf.run.program_calls.program_error import ProgramError
from depyf.run.run import Run


def test_a_program_that_an_error_ended_did_not_come_to_it():
    run = Run("", "", (), from_start=True)
    assert [one.text for one in nothing_compiled(run)] == [
        "nothing was compiled: torch.compile was not called in this process"
    ]
    ended = dataclasses.replace(run, ended_by=ProgramError("ModuleNotFoundError: No module named 'x'"))
    assert list(nothing_compiled(ended)) == []
