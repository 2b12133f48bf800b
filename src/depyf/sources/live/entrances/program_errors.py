"""What an exception that nobody caught says of the program.

Input: the exception, as it leaves the program or the block that is recorded.  Output: a ``ProgramError``; the exception
is not kept and not changed.
Which module of torch runs what: torch/_dynamo/convert_frame.py compiles, torch/_dynamo/eval_frame.py
(``compile_wrapper``) calls what is compiled, torch/_functorch/_aot_autograd/runtime_wrappers.py runs its backward.
"""

from __future__ import annotations

from collections.abc import Iterator

from depyf.run.program_calls.program_error import ProgramError, RaisedIn
from depyf.safety.guarded import problem
from depyf.sources.live.entrances.running_lines import of_program, place_of, traced
from depyf.sources.reports.failures import asks_double_backward

_COMPILING = ("torch._dynamo.convert_frame", "torch._dynamo.symbolic_convert")
_RUNS = ("torch._functorch._aot_autograd.", "torch._inductor.")
_CALLS = ("torch._dynamo.eval_frame", "compile_wrapper")
_OF_COMPILING = ("torch._dynamo.exc", "torch._inductor.exc")


def program_error(error: BaseException | None) -> ProgramError | None:
    """None for no error, and for one that only ends the program: ``SystemExit``, ``KeyboardInterrupt``."""
    if not isinstance(error, Exception):
        return None
    lines = list(of_program(traced(error)))
    raised_in = _raised_in(error)
    double = raised_in is RaisedIn.COMPILED and type(error) is RuntimeError and asks_double_backward(str(error))
    return ProgramError(problem(error), place_of(*lines[-1]) if lines else None, raised_in, double)


def _raised_in(error: Exception) -> RaisedIn:
    called = list(_modules(error))
    names = {module for module, _ in called}
    if type(error).__module__ in _OF_COMPILING or not names.isdisjoint(_COMPILING):
        return RaisedIn.COMPILING
    if _CALLS in called or any(name.startswith(_RUNS) for name in names):
        return RaisedIn.COMPILED
    return RaisedIn.PROGRAM


def _modules(error: Exception) -> Iterator[tuple[str, str]]:
    """Module and function of each frame that led to the error."""
    traceback = error.__traceback__
    while traceback is not None:
        frame = traceback.tb_frame
        name = frame.f_globals.get("__name__")
        yield name if isinstance(name, str) else "", frame.f_code.co_name
        traceback = traceback.tb_next
