"""Why torch compiled nothing in a run.

Input: a run.  Output: an observation for each reason that is known; none where something was compiled, or torch raised
an error, or graph breaks say why.
"""

from __future__ import annotations

from collections.abc import Iterator

from depyf.run.observations.in_place_modules import is_passed_over
from depyf.run.observations.observation import Observation, ObservationKind
from depyf.run.program_calls.compile_calls import CompileCall
from depyf.run.records import EntryState, FunctionRecord
from depyf.run.run import Run

_COMPILE = "call torch.compile(model), and what it returns in the place of the model"
_IN_PLACE = "model.compile() compiles a module in place"


def nothing_compiled(run: Run) -> Iterator[Observation]:
    """One observation for each reason for which nothing was compiled.  No observation where a forked child compiled
    something, or where an error ended the program before it called ``torch.compile``."""
    if (
        run.compilations
        or run.loaded
        or run.errors
        or run.ran_as_python
        or run.unfinished
        or run.forks
        or run.precompiled
    ):
        return
    for switch in run.switched_off:
        way = f"take {switch} out" if "config" in switch else f"unset {switch.partition('=')[0]} in the environment"
        yield Observation(
            ObservationKind.NOTHING_COMPILED,
            None,
            f"nothing was compiled: {switch} switches torch.compile off",
            (way,),
        )
    if run.switched_off:
        return
    if not run.compile_calls:
        if run.from_start and not run.functions and not run.failed_exports and run.ended_by is None:
            text = "nothing was compiled: torch.compile was not called in this process"
            yield Observation(ObservationKind.NOTHING_COMPILED, None, text, (_COMPILE, _IN_PLACE))
        return
    for call in run.compile_calls:
        if call.eager:
            yield _under_stance(call)
        elif call.called and not call.inlined and not is_passed_over(call, run):
            yield from _left_alone(call, run)


def _under_stance(call: CompileCall) -> Observation:
    text = f'`{call.wrapped}` was called under the stance "force_eager": torch compiles nothing then'
    ways = ('torch.compiler.set_stance("default") before the call',)
    return Observation(ObservationKind.NOTHING_COMPILED, call.place, text, ways)


def _left_alone(call: CompileCall, run: Run) -> Iterator[Observation]:
    """torch looked at the function, and left it alone."""
    body = call.body
    if body is None:
        return
    place = (body.filename, body.line)
    why = next((why for code, why in run.never_compiled if (code.filename, code.line) == place), "")
    if any((f.code.filename, f.code.line) == place and _empty(f) for f in run.functions):
        why = "there is no tensor operation in it"
    if why:
        text = f"torch compiled nothing of `{call.wrapped}`: {why}"
        yield Observation(ObservationKind.NOTHING_COMPILED, call.place, text)


def _empty(function: FunctionRecord) -> bool:
    return bool(function.entries) and all(entry.state is EntryState.NOTHING for entry in function.entries)
