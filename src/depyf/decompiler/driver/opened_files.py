"""Decompiles what was read from a file whose version may be in doubt.

Input: ``Opened``.  Output: the text of the reading that is proven best, with a note on how it was read.  Readings that
are proven alike are told apart by nothing; the newest version is taken, and the note names the others.
"""

from __future__ import annotations

from dataclasses import replace

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.files.opening import Opened, other_readings
from depyf.decompiler.driver.pipeline import Decompiled, decompile_unit
from depyf.decompiler.options import Options
from depyf.decompiler.verify import Status
from depyf.errors import DepyfError


def decompile_opened(opened: Opened, options: Options = Options()) -> tuple[Decompiled, CodeUnit]:
    """The text, and the code that it is of.  Raises DecompilationError where no reading has a text."""
    if len(opened.readings) == 1:
        unit = opened.unit
        try:
            found = decompile_unit(unit, options)
        except DepyfError:
            others = other_readings(opened)
            if others is None:
                raise
            return decompile_opened(others, options)
        if not found.proven:  # or nothing could be proven, for want of that version's interpreter
            others = other_readings(opened)
            if others is not None:
                return decompile_opened(others, options)
        return replace(found, note=opened.note()) if opened.problem else found, unit
    made: list[tuple[tuple[int, int, int], int, Decompiled]] = []
    failure: DepyfError | None = None
    for number, reading in enumerate(opened.readings):
        try:
            found = decompile_unit(reading.unit, options)
        except DepyfError as error:
            failure = failure or error
        else:
            made.append((_doubts(found), number, found))
    if not made:
        assert failure is not None
        raise failure
    _, number, best = min(made, key=lambda one: one[:2])
    unit = opened.readings[number].unit
    alike = len(made) == len(opened.readings) and all(found.source == best.source for _, _, found in made)
    return replace(best, note=opened.note(unit, alike)), unit


def _doubts(found: Decompiled) -> tuple[int, int, int]:
    """How many code objects have no text or a wrong one, how many do not recompile to the same instructions, how many
    are unproven.

    Without the interpreter of a version nothing of it can be proven: that alone decides between readings that are alike
    otherwise.
    """
    statuses = [verdict.status for verdict in found.verdicts]
    failed = statuses.count(Status.FAILED) + statuses.count(Status.WRONG)
    return failed, statuses.count(Status.EQUIVALENT), statuses.count(Status.UNVERIFIED)
