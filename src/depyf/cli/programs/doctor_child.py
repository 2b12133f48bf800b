"""What ``depyf doctor`` starts: ``python -m depyf.cli.programs.doctor_child SPEC PROGRAM ...`` runs the program as
``depyf run`` does.

The process is ours, so settings may be changed here and nowhere else: before the program runs, the advice in SPEC is
followed, random numbers are seeded and what compiled functions return is recorded, where SPEC asks for it.

Input: SPEC, a JSON file that ``actions/doctor/trial.py`` wrote.  Output: the dump, and a JSON file with how the run
went.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from depyf.actions.doctor.trial_files import TrialResult, TrialSpec, read_trial, write_result
from depyf.cli.input_errors import InputError
from depyf.cli.programs.check_option import Check
from depyf.cli.programs.run_program import record_program
from depyf.errors import DepyfError

NOT_STARTED = 4
"""The exit status where nothing of the program ran; the file says why."""


def main(arguments: list[str]) -> int:
    spec_file, program, *rest = arguments
    spec = read_trial(Path(spec_file))
    tell = partial(write_result, Path(spec.result))
    try:
        recorder = _prepared(spec)
    except DepyfError as error:
        tell(TrialResult(problem=str(error)))
        return NOT_STARTED
    begun = time.perf_counter()

    def at_end() -> None:
        seconds = time.perf_counter() - begun
        state = None
        if recorder is not None:
            state = recorder.state(vars(sys.modules["__main__"]))
        tell(TrialResult(seconds=seconds, calls=None if recorder is None else recorder.calls, state=state))

    try:
        check = Check(*spec.check) if spec.check is not None else None
        return record_program(
            program, rest, spec.module, spec.folder, at_end, check=check, measures_guards=spec.measures_guards,
            counts_instructions=spec.counts_instructions,
        )  # fmt: skip
    except DepyfError as error:  # the parent says it
        tell(TrialResult(problem=str(error), no_input=isinstance(error, InputError)))
        return NOT_STARTED


def _prepared(spec: TrialSpec) -> Any:
    """The recorder of what is returned, where it is asked for; the advice is followed."""
    from depyf.sources.live.require import require_torch

    require_torch()
    from depyf.actions.doctor.returned import comparable  # torch comes with it: that is not the program's time
    from depyf.actions.doctor.switches import follow, leave_out_guards

    recorder = comparable() if spec.compare else None
    if spec.guard_filter:
        leave_out_guards(spec.guard_filter)
    for advice in spec.advice:
        follow(advice.use, advice.function)
    return recorder


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
