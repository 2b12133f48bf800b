"""Finds what torch.compile was given: from a compiled callable to the function whose frame Dynamo sees.

Input: whatever ``torch.compile`` returned (a wrapper, an ``OptimizedModule``, a bound method), what ``aot_compile`` or
``load_compiled_function`` did, or the plain function or module inside it.  Output: the function, the arguments it gets
in front of the caller's, and the backend asked for.  Nothing is called and nothing is compiled.
"""

from __future__ import annotations

import functools
import gc
import inspect
import types
from dataclasses import dataclass
from typing import Any

from depyf.errors import DepyfError
from depyf.sources.live.ahead.ahead_functions import (
    ahead_functions,
    apart_entries,
    known_backend,
    original_code,
    original_of_ahead,
)
from depyf.sources.live.ahead.one_graph import one_graph_of
from depyf.sources.live.caches.entries import LiveEntry, cache_entries
from depyf.sources.live.events.torch_options import SPEC
from depyf.sources.live.pure_access import (
    attribute,
    cell_contents,
    class_module,
    class_namespace,
    classes_of,
    full_name,
    is_a,
    short_name,
)

ORIGINAL = "_torchdynamo_orig_callable"
_BACKEND_LINKS = ("_torchdynamo_orig_backend", "_torchdynamo_orig_callable")
_EMPTY = object()
_MODULE_CALLS = ("_wrapped_call_impl", "_call_impl", "__call__")


@dataclass(frozen=True, slots=True)
class Target:
    """A function that torch may have compiled, as the caller of ``compiled_fn`` reaches it."""

    function: types.FunctionType
    leading: tuple[Any, ...] = ()
    """``self`` of a method or module, and the arguments of ``functools.partial``."""
    keywords: tuple[tuple[str, Any], ...] = ()
    backend: Any = None
    """The compiler inside the wrapper; None where ``compiled_fn`` is not a compiled callable."""
    fullgraph: bool = False
    """torch raises into the program where it cannot compile all of it."""
    declared: bool = False
    """torch.compile was told which sizes are symbols (``dynamic_shapes=``)."""
    module: Any = None
    """The module whose call reaches the function, its ``forward``: hooks run around that, as Python."""
    ahead: tuple[Any, ...] = ()
    """What was compiled ahead of time, where that is called: torch's cache for the function is not asked then."""

    @property
    def entries(self) -> tuple[LiveEntry, ...]:
        """What may run for a call, in the order in which it is tried."""
        if self.ahead:
            return tuple(
                entry for number, function in enumerate(self.ahead) for entry in apart_entries(function, number)
            )
        return cache_entries(self.code)

    @property
    def code(self) -> types.CodeType:
        return self.function.__code__

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> inspect.BoundArguments:
        """The arguments as the function's own parameters, defaults filled in.  TypeError as a call raises it."""
        signature = inspect.signature(self.function, follow_wrapped=False)
        bound = signature.bind(*self.leading, *args, **dict(self.keywords) | kwargs)
        bound.apply_defaults()
        return bound

    def frame_locals(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The locals of the frame at its first instruction, free variables included.  TypeError as a call raises it."""
        given = self.bind(args, kwargs).arguments
        for name in self.code.co_varnames[: self.code.co_argcount]:
            if name.startswith("."):  # a comprehension's: inspect calls it otherwise
                given[name] = given.pop(f"implicit{name[1:]}")
        return {**given, **free_variables(self.function)}


def free_variables(function: types.FunctionType) -> dict[str, Any]:
    """The values of the cells that ``function`` closes over; empty cells are left out."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or ())
    return {name: found for name, cell in cells if (found := cell_contents(cell, _EMPTY)) is not _EMPTY}


def find_target(fn: Any) -> Target:
    """The target of ``fn``.  DepyfError where there is no Python function."""
    leading: tuple[Any, ...] = ()
    keywords: dict[str, Any] = {}
    backend: Any = None
    fullgraph = declared = False
    module: Any = None
    for _ in range(64):  # wrappers around wrappers; a cycle must not hang
        if is_a(fn, functools.partial):
            leading, keywords = (*leading, *fn.args), {**fn.keywords, **keywords}
            fn = fn.func
        elif ahead_functions(fn):
            return _of_ahead(fn, leading, keywords)
        elif one_graph_of(fn) is not None:
            break
        elif type(fn) is types.MethodType:  # before the next: a method shows the attributes of its function
            if _is_module(fn.__self__) and fn.__func__.__name__ in _MODULE_CALLS:
                module = fn.__self__
                fn = _forward(module)
            else:
                leading = (fn.__self__, *leading)
                fn = fn.__func__
        elif _own(fn, ORIGINAL) is not None:
            if backend is None:
                backend, fullgraph = _backend(fn)
                declared = _declares_sizes(fn)
            fn = _own(fn, ORIGINAL)
        elif type(fn) is types.FunctionType:
            return Target(fn, leading, tuple(keywords.items()), backend, fullgraph, declared, module)
        elif _is_module(fn):
            fn = _module_entry(fn)
        elif _call(fn) is not None:
            fn = types.MethodType(_call(fn), fn)
        else:
            break
    if one_graph_of(fn) is not None:
        raise DepyfError(
            "this precompile artefact has one graph, and no guards and no function: depyf.explain tells what it wants "
            "of a call, depyf.why which of that a call does not have"
        )
    shown = attribute(fn, "__qualname__") or f"a {full_name(type(fn))}"
    raise DepyfError(f"{shown} has no Python bytecode: there is nothing for torch.compile in it")


def _of_ahead(fn: Any, leading: tuple[Any, ...], keywords: dict[str, Any]) -> Target:
    """A model gives itself to what was compiled of its ``forward``."""
    ahead = ahead_functions(fn)
    model = attribute(fn, "model")
    own = () if ahead[0] is fn or model is None else (model,)
    function = original_of_ahead(ahead[0], functions_of(original_code(ahead[0])))
    return Target(function, (*own, *leading), tuple(keywords.items()), known_backend(ahead[0]), True, ahead=ahead)


def _own(fn: Any, name: str) -> Any:
    """An attribute of a wrapper; a module passes unknown attributes on to the one it wraps, which is not meant."""
    return None if _is_module(fn) else attribute(fn, name)


def _call(fn: Any) -> Any:
    """``__call__`` of an object's class, where that is a Python function."""
    found = next(
        (class_namespace(cls)["__call__"] for cls in classes_of(fn) if "__call__" in class_namespace(cls)), None
    )
    return found if type(found) is types.FunctionType else None


def _is_module(value: Any) -> bool:
    return any(short_name(cls) == "Module" and class_module(cls).startswith("torch.nn.") for cls in classes_of(value))


def _module_entry(module: Any) -> Any:
    """What a call of ``module`` reaches first: the wrapper that ``torch.compile`` put there, else its ``forward``."""
    state = vars(module)
    wrapper = (
        state.get("_forward") or state.get("forward") if "dynamo_ctx" in state else state.get("_compiled_call_impl")
    )
    if wrapper is not None and callable(wrapper):
        return wrapper
    return _forward(module)


def _backend(wrapper: Any) -> tuple[Any, bool]:
    """The innermost compiler of a ``torch.compile`` wrapper, found among the variables it closes over, and whether it
    has ``fullgraph=True``."""
    if type(wrapper) is not types.FunctionType:
        return None, False
    callback = free_variables(wrapper).get("callback")
    return innermost_backend(callback), any(attribute(one, "_one_graph") is True for one in _links(callback))


def _declares_sizes(wrapper: Any) -> bool:
    """Whether a ``torch.compile`` wrapper sets the option by which torch knows declared sizes, before each call."""
    if type(wrapper) is not types.FunctionType:
        return False
    hooks = attribute(free_variables(wrapper).get("self"), "enter_exit_hooks")
    for hook in list(hooks) if type(hooks) is list else []:
        changed = hook.args[:1] if type(hook) is functools.partial else ()
        if type(hook) is types.FunctionType:
            changed = (free_variables(hook).get("changes"),)
        if any(type(options) is dict and options.get(SPEC) is not None for options in changed):
            return True
    return False


def _links(callback: Any) -> list[Any]:
    """What torch's frame evaluation calls, and the compilers inside it, the innermost last."""
    found: list[Any] = []
    while callback is not None and len(found) < 64:
        found.append(callback)
        callback = next((one for link in _BACKEND_LINKS if (one := attribute(callback, link)) is not None), None)
    return found


def innermost_backend(callback: Any) -> Any:
    """The backend inside the callback of torch's frame evaluation; None where nothing is compiled."""
    if callback is None or isinstance(callback, bool):
        return None
    for _ in range(64):
        inner = next((found for link in _BACKEND_LINKS if (found := attribute(callback, link)) is not None), None)
        if inner is None:
            return callback
        callback = inner
    return None


def functions_of(code: types.CodeType) -> list[types.FunctionType]:
    """Every function alive that has this code."""
    found = [item for item in gc.get_referrers(code) if type(item) is types.FunctionType]
    return [function for function in found if function.__code__ is code]


def _forward(module: Any) -> Any:
    return module.forward
