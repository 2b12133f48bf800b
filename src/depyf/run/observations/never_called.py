"""A ``torch.compile`` whose result was never called.

Input: the compile calls of a run.  Output: an observation for each line whose results were all never called,
and of which nothing was compiled ahead of time.
"""

from __future__ import annotations

from collections.abc import Iterator

from depyf.run.observations.ended_by_error import ended_before
from depyf.run.observations.observation import Observation, ObservationKind
from depyf.run.program_calls.compile_calls import CompileCall, WrappedKind
from depyf.run.run import Run


def never_called(run: Run) -> Iterator[Observation]:
    """One observation for each line whose results were never called.  No observation where an error ended the program,
    or where a forked child compiled something: calls in a child are not recorded here."""
    for call in run.compile_calls if not run.forks and not ended_before(run) else ():
        if not call.called and not call.inlined and not compiled_ahead(run, call):
            yield Observation(ObservationKind.NEVER_CALLED, call.place, _text(call), _ways(call))


def compiled_ahead(run: Run, call: CompileCall) -> bool:
    """Whether the result was compiled ahead of time: it need not be called then."""
    place = None if call.body is None else (call.body.filename, call.body.line)
    ahead = (f for f in run.functions if any(entry.made.apart for entry in f.entries))
    return any((f.code.filename, f.code.line) == place for f in ahead)


def _text(call: CompileCall) -> str:
    name = call.wrapped
    if call.kind is WrappedKind.IN_PLACE:
        return f"`{name}` is compiled in place here, and was never called as a module"
    if _decorator(call):
        return f"`{name}` is compiled here, and was never called"
    if call.made > 1:
        return f"the {call.made} results of torch.compile for `{name}` were never called{_gone(call)}"
    return f"the result of torch.compile for `{name}` was never called{_gone(call)}"


def _gone(call: CompileCall) -> str:
    return "" if call.kept else ": it was thrown away" if call.made == 1 else ": they were thrown away"


def _decorator(call: CompileCall) -> bool:
    return call.place.text.startswith("@")


def _ways(call: CompileCall) -> tuple[str, ...]:
    module = call.kind is WrappedKind.MODULE
    if call.kind is WrappedKind.IN_PLACE:
        return ("call the module itself: `module.forward(x)` and its other methods run without what was compiled",)
    if _decorator(call):
        return ("call it, or leave torch.compile out",)
    if not call.kept:
        keep = "keep what torch.compile returns, and call it: `model = torch.compile(model)` where the model is called"
        place = "module.compile() compiles the module in place"
        return (keep, place) if module else (keep.replace("model", "f"),)
    other = "call the result in the place of the original"
    if not module:
        return (other,)
    return (
        other + "; its other methods (`generate`, `encode`) run the module that is not compiled",
        "module.compile() compiles the module in place",
    )
