"""Follows an advice that is a switch: sets an option of torch, or marks a dimension before a function is compiled.

This changes settings of the process: it is for a process that depyf started only (the child of ``depyf doctor``, a
test), never for the user's.

Input: the use of an advice, and the function that it is about.  Output: a function that undoes it.  ``SwitchError``
where this torch cannot do it.
"""

from __future__ import annotations

import ast
import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

from depyf.decompiler.bytecode.host.written_names import qualified_name
from depyf.errors import DepyfError
from depyf.run.advice.advice import AdviceUse, Switch, SwitchKind
from depyf.run.advice.registry import ADVICE
from depyf.safety.unheard import parse
from depyf.sources.live.pure_access import UnreadableError, attribute, is_a, item
from depyf.sources.reports.advised_functions import OF_LOGGERS, function_named


class SwitchError(DepyfError):
    """This version of torch lacks the option, or the advice can only be followed by an edit."""


def follow(use: AdviceUse, function: str = "") -> Callable[[], None]:
    """Apply an advice to this process; returns a function that undoes it.  ``function``: the qualified name of the
    function whose argument is marked.  SwitchError where the advice is no switch, or torch lacks the option."""
    switch = ADVICE[use.id].switch if use.id in ADVICE else None
    if switch is None:
        raise SwitchError(f"{use.id} needs an edit of the program")
    if switch.kind is SwitchKind.MARK:
        return _mark(switch.name, use.value("tensor"), int(use.value("dimension")), function)
    from torch._dynamo import config

    if not hasattr(config, switch.name):
        raise SwitchError(f"this torch has no torch._dynamo.config.{switch.name}")
    before = getattr(config, switch.name)

    def undo() -> None:
        setattr(config, switch.name, before)

    name = use.value(switch.value) if switch.kind is SwitchKind.ADD else ""
    if name.startswith(OF_LOGGERS) and function_named(name) is None:  # the program imports what defines it
        return _when_compiling(functools.partial(_add, switch.name, name), undo)
    if switch.kind is SwitchKind.COMPILING:
        return _when_compiling(functools.partial(_set_again, switch), undo)
    setattr(config, switch.name, _value(switch, use, before))
    return undo


def leave_out_guards(name: str) -> None:
    """Make ``torch.compiler.NAME`` the default ``guard_filter_fn`` for the rest of the process.  SwitchError where
    torch has no such filter."""
    import torch
    from torch._dynamo import guards

    keep = getattr(torch.compiler, name, None)
    maker: Any = getattr(guards, "CheckFunctionManager", None)
    before = getattr(maker, "__init__", None)
    if keep is None or before is None or "guard_filter_fn" not in inspect.signature(before).parameters:
        raise SwitchError(f"this torch has no torch.compiler.{name}, or no place to put it")
    signature = inspect.signature(before)

    @functools.wraps(before)
    def with_filter(*args: Any, **kwargs: Any) -> None:
        given = signature.bind(*args, **kwargs)
        if given.arguments.get("guard_filter_fn") is None:
            given.arguments["guard_filter_fn"] = keep
        before(*given.args, **given.kwargs)

    maker.__init__ = with_filter


def _set_again(switch: Switch, _frame: Any) -> bool:
    """Set the option for the compilation that begins: ``torch.compile`` has set it, and sets it back."""
    from torch._dynamo import config

    setattr(config, switch.name, ast.literal_eval(switch.value))
    return False


def _add(option: str, name: str, _frame: Any) -> bool:
    """Add the function of that name to the option, as soon as there is one; whether it is done."""
    from torch._dynamo import config

    function = function_named(name)
    if function is not None:
        setattr(config, option, {*getattr(config, option), function})
    return function is not None


def _value(switch: Switch, use: AdviceUse, before: Any) -> Any:
    if switch.kind is SwitchKind.ADD:
        function = function_named(use.value(switch.value))
        if function is None:
            raise SwitchError(f"there is no {use.value(switch.value)}")
        return {*before, function}
    return ast.literal_eval(use.value(switch.value) if switch.kind is SwitchKind.LIMIT else switch.value)


def _mark(how: str, tensor: str, dimension: int, function: str) -> Callable[[], None]:
    """As if the program marked the tensor before the first call of the function: when torch is asked to compile it."""
    from torch._dynamo import decorators

    marked = getattr(decorators, how, None)
    if marked is None:
        raise SwitchError(f"this torch has no {how}")
    seen: list[types.CodeType] = []

    def mark(frame: Any) -> bool:
        code = frame.f_code
        if _named(code, function) and not any(code is known for known in seen):
            seen.append(code)
            value = _reached(tensor, frame.f_locals)
            if value is not None:
                marked(value, dimension)
        return False

    return _when_compiling(mark)


def _when_compiling(act: Callable[[Any], bool], undo: Callable[[], None] = lambda: None) -> Callable[[], None]:
    """Before each frame that torch is asked to compile ``act`` is called with it, until it says that all is done."""
    from torch._dynamo import convert_frame

    wrapper = getattr(convert_frame, "CatchErrorsWrapper", None)
    if wrapper is None:
        raise SwitchError("this torch has no place to act at before it compiles")
    before = wrapper.__call__
    done = False

    @functools.wraps(before)
    def acts_first(self: Any, frame: Any, *rest: Any, **more: Any) -> Any:
        nonlocal done
        done = done or act(frame)
        return before(self, frame, *rest, **more)

    wrapper.__call__ = acts_first

    def restore() -> None:
        wrapper.__call__ = before
        undo()

    return restore


def _named(code: types.CodeType, function: str) -> bool:
    return code.co_name == function.rpartition(".")[2] and qualified_name(code) == function


def _reached(path: str, variables: dict[str, Any]) -> Any:
    """The tensor at ``x``, ``batch['image']``, ``self.cache``; None where there is none."""
    import torch

    try:
        value = _at(parse(path, mode="eval").body, variables)
    except (SyntaxError, UnreadableError):
        return None
    return value if is_a(value, torch.Tensor) else None


def _at(node: ast.expr, variables: dict[str, Any]) -> Any:
    match node:
        case ast.Name(name):
            keywords = variables.get("kwargs")  # an argument that was passed on by a wrapper
            return item(variables if name in variables or keywords is None else keywords, name)
        case ast.Attribute(owner, name):
            return attribute(_at(owner, variables), name)
        case ast.Subscript(owner, ast.Constant(key)):
            return item(_at(owner, variables), key)
    raise UnreadableError
