"""What ``depyf doctor`` starts: ``python -m depyf.cli.programs.doctor_child SPEC PROGRAM ...`` runs the program as
``depyf run`` does.

The process is ours, so settings may be changed here and nowhere else: before the program runs, the advice in SPEC is
followed, random numbers are seeded and what compiled functions return is recorded, where SPEC asks for it.

Input: SPEC, a JSON file that ``actions/doctor/trial.py`` wrote.  Output: the dump, and a JSON file with how the run
went.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from depyf.cli.input_errors import InputError
from depyf.cli.programs.check_option import Check
from depyf.cli.programs.run_program import record_program
from depyf.errors import DepyfError
from depyf.run.advice.advice import AdviceUse

NOT_STARTED = 4
"""The exit status where nothing of the program ran; the file says why."""


def main(arguments: list[str]) -> int:
    spec_file, program, *rest = arguments
    spec = json.loads(Path(spec_file).read_text(encoding="utf-8"))
    told = _Told(Path(spec["result"]))
    try:
        recorder = _prepared(spec)
    except DepyfError as error:
        told.write(problem=str(error))
        return NOT_STARTED
    begun = time.perf_counter()

    def at_end() -> None:
        seconds = time.perf_counter() - begun
        state = None
        if recorder is not None:
            state = recorder.state(vars(sys.modules["__main__"]))
        told.write(seconds=seconds, calls=None if recorder is None else recorder.calls, state=state)

    try:
        check = Check(*spec["check"]) if spec["check"] is not None else None
        return record_program(program, rest, spec["module"], spec["folder"], at_end, check=check, measures_guards=True)
    except DepyfError as error:  # the parent says it
        told.write(problem=str(error), **({"no_input": True} if isinstance(error, InputError) else {}))
        return NOT_STARTED


class _Told:
    """The file that the parent reads; whole, or not there."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, **what: Any) -> None:
        with contextlib.suppress(OSError, ValueError, TypeError):
            beside = self._path.with_suffix(".part")
            beside.write_text(json.dumps(what), encoding="utf-8")
            os.replace(beside, self._path)


def _prepared(spec: dict[str, Any]) -> Any:
    """The recorder of what is returned, where it is asked for; the advice is followed."""
    from depyf.sources.live.require import require_torch

    require_torch()
    from depyf.actions.doctor.returned import comparable  # torch comes with it: that is not the program's time
    from depyf.actions.doctor.switches import follow, leave_out_guards

    recorder = comparable() if spec["compare"] else None
    if spec["guard_filter"]:
        leave_out_guards(spec["guard_filter"])
    for advice in spec["advice"]:
        follow(AdviceUse(advice["id"], tuple(advice["values"].items())), advice["function"])
    return recorder


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
