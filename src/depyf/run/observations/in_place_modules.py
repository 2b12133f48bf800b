"""A module of torch's own, such as ``Sequential``, that was compiled in place: torch compiles nothing of it.

Input: a run.  Output: an observation for each such line.
"""

from __future__ import annotations

from collections.abc import Iterator

from depyf.run.installed_files import library_file
from depyf.run.observations.observation import Observation, ObservationKind
from depyf.run.program_calls.compile_calls import CompileCall, WrappedKind
from depyf.run.run import Run


def passed_over(run: Run) -> Iterator[Observation]:
    """One observation for each such module that was called, unless compiled code called it."""
    for call in run.compile_calls:
        if is_passed_over(call, run):
            name = f"`{call.wrapped}`" + (f" ({call.made} of them)" if call.made > 1 else "")
            text = (
                f"torch compiled nothing of {name}: compiled in place, the `forward` of its own modules is passed over"
            )
            ways = ("torch.compile(module) in the place of module.compile(), and call what it returns",)
            yield Observation(ObservationKind.PASSED_OVER, call.place, text, ways)


def is_passed_over(call: CompileCall, run: Run) -> bool:
    """Whether ``call`` compiles a module of ``torch.nn`` in place, and torch compiled no ``forward`` of it."""
    body = call.body
    if call.kind is not WrappedKind.IN_PLACE or body is None or not call.called or call.inlined or call.eager:
        return False
    if not library_file(body.filename).replace("\\", "/").startswith("torch/nn/"):
        return False
    place = (body.filename, body.line)
    return not any((f.code.filename, f.code.line) == place and f.entries for f in run.functions)
