"""What an uncaught exception says of the program.

Input: the exception, as it leaves the program or the block that is recorded.  Output: a ``ProgramError``; the exception
is not kept and not changed, and no method of a class of the program is called.
Which module of torch runs what: torch/_dynamo/convert_frame.py compiles, torch/_dynamo/eval_frame.py (a function inside
``_TorchDynamoContext.__call__``) calls what is compiled, torch/_functorch/_aot_autograd/runtime_wrappers.py runs its
backward.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

from depyf.decompiler.bytecode.host.written_names import qualified_name
from depyf.run.program_calls.program_error import ProgramError, RaisedIn
from depyf.safety.escape import one_line
from depyf.safety.guarded import problem
from depyf.sources.live.entrances.running_lines import of_program, place_of, traced
from depyf.sources.live.pure_access import SCALARS, class_module, class_namespace, classes_of, is_a, short_name
from depyf.sources.reports.failures import asks_double_backward

_COMPILING = ("torch._dynamo.convert_frame", "torch._dynamo.symbolic_convert")
_RUNS = ("torch._functorch._aot_autograd.", "torch._inductor.")
_CALLS = ("torch._dynamo.eval_frame", "_TorchDynamoContext.__call__.<locals>.")
_OF_COMPILING = ("torch._dynamo.exc", "torch._inductor.exc")


def program_error(error: BaseException | None) -> ProgramError | None:
    """The record of an uncaught exception.  None for no exception, ``SystemExit`` without an error and
    ``KeyboardInterrupt``."""
    if error is not None and is_a(error, SystemExit):
        return _program_exit(error)
    if error is None or not is_a(error, Exception):
        return None
    lines = list(of_program(traced(error)))
    raised_in = _raised_in(error)
    text = _text(error)
    double = raised_in is RaisedIn.COMPILED and type(error) is RuntimeError and asks_double_backward(text)
    return ProgramError(text, place_of(*lines[-1]) if lines else None, raised_in, double)


def _program_exit(error: BaseException) -> ProgramError | None:
    """The status as CPython takes it of ``SystemExit.code`` (``handle_system_exit`` in Python/pythonrun.c): a number is
    the status, anything else but None is printed, and the status is 1."""
    code = _CODE.__get__(error)
    status = int(code) & 0xFF if type(code) in (int, bool) else int(code is not None)
    if not status:
        return None
    lines = list(of_program(traced(error)))
    said = one_line(code) if type(code) is str else ""
    return ProgramError(said, place_of(*lines[-1]) if lines else None, status=status)


def _text(error: BaseException) -> str:
    """Type and message; of an error that would call the program for its message, the text that it was made with."""
    values: tuple[Any, ...] = _ARGUMENTS.__get__(error)
    said = next(class_namespace(cls)["__str__"] for cls in classes_of(error) if "__str__" in class_namespace(cls))
    named = (_FILENAME.__get__(error),) if is_a(error, OSError) else ()
    in_c = type(said) is types.WrapperDescriptorType
    if in_c and all(type(value) in SCALARS for value in (*values, *named)):
        return problem(error)
    name = short_name(type(error))
    return one_line(f"{name}: {values[0]}") if values and type(values[0]) is str else name


_ARGUMENTS: types.GetSetDescriptorType = vars(BaseException)["args"]
_CODE: types.MemberDescriptorType = vars(SystemExit)["code"]
_FILENAME: types.MemberDescriptorType = vars(OSError)["filename"]


def _raised_in(error: BaseException) -> RaisedIn:
    called = list(_modules(error))
    names = {module for module, _ in called}
    if class_module(type(error)) in _OF_COMPILING or not names.isdisjoint(_COMPILING):
        return RaisedIn.COMPILING
    calls = any(module == _CALLS[0] and function.startswith(_CALLS[1]) for module, function in called)
    if calls or any(name.startswith(_RUNS) for name in names):
        return RaisedIn.COMPILED
    return RaisedIn.PROGRAM


def _modules(error: BaseException) -> Iterator[tuple[str, str]]:
    """Module and function of each frame that led to the error."""
    traceback = error.__traceback__
    while traceback is not None:
        frame = traceback.tb_frame
        name = dict.get(frame.f_globals, "__name__")
        yield name if type(name) is str else "", qualified_name(frame.f_code)
        traceback = traceback.tb_next
