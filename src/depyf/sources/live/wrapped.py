"""What a wrapper of torch's own calls, where it is compiled: a module whose ``forward`` is torch's, a callable object.

Input: the frames of Dynamo while it compiles ``wrap_inline.<locals>.inner``, or the wrapper.  Output: what the program
calls it: its class, and the global variable that holds it.  Objects of the program are only looked at through
``pure_access``.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable
from typing import Any

from depyf.run.guards.guarded_path import variable_of
from depyf.run.guards.kinds.type_guard import class_wanted
from depyf.run.installed_files import installed
from depyf.run.records import GuardRecord
from depyf.sources.live.pure_access import (
    attribute,
    cell_contents,
    class_mro,
    class_namespace,
    is_a,
    own_attributes,
    short_name,
)
from depyf.sources.reports.library_files import of_libraries
from depyf.sources.reports.wrapped_calls import WrappedCall

_DEPTH = 80
_LAYERS = 8


def is_wrapper(code: types.CodeType) -> bool:
    """Whether ``code`` is that of torch's wrapper around a callable."""
    return code.co_freevars == ("fn",) and code.co_filename.replace("\\", "/").endswith("_dynamo/external_utils.py")


def is_module_call(code: types.CodeType) -> bool:
    """Whether ``code`` is torch's code that calls the ``forward`` of any module."""
    return code.co_name == "_wrapped_call_impl" and code.co_filename.replace("\\", "/").endswith(
        "/torch/nn/modules/module.py"
    )


def wrapped_call() -> WrappedCall | None:
    """The object whose wrapper Dynamo compiles at this moment; None where it compiles something else."""
    frame: types.FrameType | None = sys._getframe(1)
    for _ in range(_DEPTH):
        if frame is None:
            return None
        if frame.f_code.co_name == "_compile":
            break
        frame = frame.f_back
    known = frame.f_locals if frame is not None and frame.f_code.co_name == "_compile" else {}
    code, closure = known.get("code"), known.get("closure")
    if not isinstance(code, types.CodeType) or not is_wrapper(code) or not isinstance(closure, tuple) or not closure:
        return None
    called = cell_contents(closure[0])
    return None if called is None else WrappedCall(_name(called, frame), _parameters(called))


def of_wrapper(function: types.FunctionType) -> Any:
    """The object that a wrapper of torch calls; None where ``function`` is no such wrapper."""
    return cell_contents(function.__closure__[0]) if is_wrapper(function.__code__) and function.__closure__ else None


def call_of(called: Any, path: str = "") -> WrappedCall:
    """The record of a call of ``called``.  ``path``: its name, instead of that of a global variable."""
    name = f"{path} ({_kind(called)})" if path else _name(called, sys._getframe(1))
    return WrappedCall(name, _parameters(called))


def module_called(code: types.CodeType, guards: Iterable[GuardRecord]) -> WrappedCall | None:
    """The module that torch's module-call code calls, if ``guards`` tell its class; None for other code."""
    if not is_module_call(code):
        return None
    found = filter(None, (class_wanted(guard.expression) for guard in guards))
    name = next((name for source, name in found if variable_of(source) == "self"), "")
    if not name:
        return None
    kind = _class(name)
    return WrappedCall(name.rpartition(".")[2], () if kind is None else _parameters_of(kind))


def _class(name: str) -> type | None:
    """The class of this name, where a module of the process has it."""
    parts = name.split(".")
    for count in range(len(parts) - 1, 0, -1):
        found: Any = sys.modules.get(".".join(parts[:count]))
        if found is None:
            continue
        for part in parts[count:]:
            found = attribute(found, part)
        return found if is_a(found, type) else None
    return None


def _name(called: Any, frame: types.FrameType | None) -> str:
    kind = _kind(called)
    variable = _variable(called, frame)
    return f"{variable} ({kind})" if variable and variable != kind else kind


def _kind(called: Any) -> str:
    """The class; of a wrapper of one module, such as DistributedDataParallel, that of the module, too."""
    if type(called) in (types.FunctionType, types.MethodType):
        return str(attribute(called, "__qualname__", "") or attribute(called.__func__, "__qualname__", "a method"))
    kind = short_name(type(called))
    inner = _modules(called)
    if set(inner) == {"module"}:
        return f"{kind} of {_kind(inner['module'])}"
    partial = attribute(called, "func") if kind == "partial" else None
    return (
        f"partial of {attribute(partial, '__qualname__', short_name(type(partial)))}" if partial is not None else kind
    )


def _modules(called: Any) -> dict[str, Any]:
    """The modules in a module; {} where it is none."""
    found = (own_attributes(called) or {}).get("_modules")
    return dict(found) if type(found) is dict else {}


def _variable(called: Any, frame: types.FrameType | None) -> str:
    """The global variable of the program that holds the object, or what ``torch.compile`` made of it."""
    for _ in range(_DEPTH):
        if frame is None:
            break
        filename = frame.f_code.co_filename
        if not of_libraries(filename) and not installed(filename):
            for name, value in dict.copy(frame.f_globals).items():
                if value is called or _modules(value).get("_orig_mod") is called:
                    return name
        frame = frame.f_back
    return ""


def _parameters(called: Any) -> tuple[str, ...]:
    """The names of the positional parameters of ``forward`` or ``__call__``."""
    for _ in range(_LAYERS):
        inner = _modules(called)
        if set(inner) != {"module"}:
            break
        called = inner["module"]
    return _parameters_of(type(called))


def _parameters_of(kind: type) -> tuple[str, ...]:
    for name in ("forward", "__call__"):
        for cls in class_mro(kind):
            function = class_namespace(cls).get(name)
            if type(function) is types.FunctionType and "_call_impl" not in function.__name__:
                code = function.__code__
                return code.co_varnames[1 : code.co_argcount]
    return ()
