"""Triton kernels of a generated wrapper as lines of a dumped file: run by Triton's interpreter, one program at a time.

While ``Interpreting`` is on, what Inductor would compile for the GPU is an ``InterpretedKernel``: its ``run`` executes
the kernel's text as Python on NumPy arrays (``triton/runtime/interpreter.py``), so that any debugger can stop in it,
and copies the results back.  Triton needs the environment variable ``TRITON_INTERPRET`` before its import for that;
here it is switched on and off at run time, and everything in Triton is afterwards as before.
"""

from __future__ import annotations

import bdb
import contextlib
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from depyf.actions.debugger.stepping.libdevice import LIBDEVICE
from depyf.errors import DepyfError
from depyf.safety.guarded import problem, say


def require_triton() -> None:
    """DepyfError without Triton's interpreter."""
    try:
        import numpy  # noqa: F401
        import triton.runtime.interpreter  # noqa: F401
    except ImportError as error:
        raise DepyfError(
            "depyf.debug(level='kernel') runs Triton kernels in Triton's interpreter, "
            f"which needs triton and numpy: {error}"
        ) from None


class InterpretedKernel:
    """Replaces a compiled kernel in a generated wrapper, which calls ``kernel.run(*args, stream=...)``."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.path: Path | None = None
        """The dumped file; without one the kernel runs all the same, as text that has no file."""
        self.compiled = False
        """From now on it runs as it would have without us."""
        self._tuner: Any = None

    def run(self, *args: Any, grid: Any = None, stream: Any = None, **kwargs: Any) -> None:
        if self._tuner is None:
            self._tuner = self._load()
        if not self.compiled:
            try:
                self._interpret(args, grid, kwargs)
                return
            except bdb.BdbQuit:
                raise
            except Exception as error:
                if isinstance(error.__cause__, bdb.BdbQuit):
                    raise error.__cause__ from None
                if not any(getattr(arg, "is_cuda", False) or getattr(arg, "is_xpu", False) for arg in args):
                    raise
                name = self._tuner.fn.__name__
                say(f"depyf: {name} is not stepped through, Triton's interpreter cannot run it: {problem(error)}")
                self.compiled = True  # nothing was written: results are copied back at the end only
        given = {"grid": grid} if grid is not None else {}
        self._tuner.run(*args, **given, stream=stream, **kwargs)

    def _load(self) -> Any:
        """Run the kernel's text, as Inductor does in its compile workers; its tuner, with nothing compiled yet."""
        from torch._inductor.runtime.triton_heuristics import CachingAutotuner

        file = str(self.path) if self.path is not None else "<Triton kernel>"
        text = self.path.read_text(encoding="utf-8") if self.path is not None else self.source
        module = types.ModuleType("depyf_kernel")
        module.__file__ = file
        exec(compile(_without_driver(text), file, "exec", dont_inherit=True), module.__dict__)
        return next(value for value in vars(module).values() if isinstance(value, CachingAutotuner))

    def _interpret(self, args: tuple[Any, ...], grid: Any, kwargs: dict[str, Any]) -> None:
        import numpy
        from triton.runtime.interpreter import GridExecutor

        tuner = self._tuner
        config = tuner.configs[0]
        blocks = {**config.kwargs, **kwargs}
        function = rewritten(tuner.fn.fn)
        names = list(tuner.fn.arg_names)
        constants = _constants(tuner.triton_meta, names)
        sizes = list(tuner.inductor_meta.get("extra_launcher_args", ()))  # of the grid, after the kernel's own
        own = len(args) - len(sizes)
        values = dict(zip(_passed(tuner, names, blocks, constants, own), args[:own]))
        values.update(constants)  # where None is fixed, the call may give -1 in its place
        values.update({name: value for name, value in blocks.items() if name in names})
        blocks.update(zip(sizes, args[own:]))
        with numpy.errstate(all="ignore"):  # of lanes beyond the end, whose results are not stored
            GridExecutor(function, names, _grid(tuner, config, grid, values, blocks))(**values)


def _constants(meta: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """The arguments that are fixed: by name, or, since Triton 3.2, by their place."""
    found = {}
    for key, value in meta.get("constants", {}).items():
        place = key[0] if isinstance(key, tuple) and len(key) == 1 else key
        found[names[place] if isinstance(place, int) else str(place)] = value
    return found


def _passed(tuner: Any, names: list[str], blocks: dict[str, Any], constants: dict[str, Any], count: int) -> list[str]:
    """The parameters that a call of ``count`` arguments gives: not those of the configuration and, for a kernel that
    the user wrote, since Triton 3.2, none that is fixed at compile time."""
    found = [name for name in names if name not in blocks]
    fixed = [name for name in found if name in constants and names.index(name) in tuner.fn.constexprs]
    fixed += [name for name in found if name not in fixed and constants.get(name, 0) is None]
    while len(found) > count and fixed:
        found.remove(fixed.pop(0))
    return found


def _grid(tuner: Any, config: Any, given: Any, values: dict[str, Any], blocks: dict[str, Any]) -> tuple[int, ...]:
    """How many programs run: passed along by the wrapper (torch 2.6), or computed as the launcher does."""
    if given is not None:
        return tuple(given({**values, **blocks}) if callable(given) else given)
    from torch._inductor.runtime.triton_heuristics import GridExpr

    numbers = {name: value for name, value in {**values, **blocks}.items() if isinstance(value, int)}
    return tuple(GridExpr.from_meta(tuner.inductor_meta, config).eval_slow(numbers))


def _without_driver(text: str) -> str:
    """The interpreter needs no driver, and a machine without a GPU has none to set; the line stays a line."""
    return "\n".join("" if line.startswith("triton_helpers.set_driver_to_") else line for line in text.split("\n"))


def _know_booleans(builder: Any) -> None:
    """As in Triton 3.3 and later: before, its interpreter neither reduces nor inverts them."""
    import triton.language as tl
    from triton.runtime.interpreter import TensorHandle

    of_others = builder.get_all_ones_value

    def get_all_ones_value(self: Any, of: Any) -> Any:
        if of.scalar != tl.int1:
            return of_others(self, of)
        true = self.get_null_value(of)
        return TensorHandle(~true.data, tl.int1)

    builder.get_int1_ty = lambda self: tl.int1
    builder.get_all_ones_value = get_all_ones_value


_rewritten: dict[types.FunctionType, Callable[..., Any]] = {}


def rewritten(function: types.FunctionType) -> Callable[..., Any]:
    """``function`` as the interpreter runs it, on the same lines; the globals of its module stay as they are."""
    import triton.language as tl
    from triton.runtime.interpreter import InterpretedFunction

    if function not in _rewritten:
        # the interpreter exchanges the functions of those modules of Triton that it finds among a kernel's globals
        own = {**function.__globals__, "triton_core": tl.core}
        own |= {"libdevice": LIBDEVICE} if "libdevice" in own else {}
        copy = types.FunctionType(
            function.__code__, own, function.__name__, function.__defaults__, function.__closure__
        )
        copy.__kwdefaults__, copy.__annotations__ = function.__kwdefaults__, function.__annotations__
        copy.__module__, copy.__qualname__ = function.__module__, function.__qualname__
        _rewritten[function] = InterpretedFunction(copy).rewrite()
        InterpretedFunction.rewritten_fn.pop(copy, None)
    return _rewritten[function]


class Interpreting:
    """Between ``start`` and ``stop``, Triton kernels and the functions they call run in Triton's interpreter."""

    def __init__(self) -> None:
        self._undo: list[tuple[Any, dict[str, Any]]] = []
        self._kernels: list[InterpretedKernel] = []
        self._replaced: list[tuple[types.ModuleType, str, Any]] = []

    def start(self) -> None:
        import triton
        import triton.language as tl
        import triton.runtime.interpreter

        # the interpreter would import it while tl.static_print is print, which has no signature before Python 3.11
        with contextlib.suppress(ImportError):
            import triton.experimental.gluon
        from torch._inductor.async_compile import AsyncCompile
        from triton.runtime.interpreter import InterpreterBuilder
        from triton.runtime.jit import JITFunction

        patched = [AsyncCompile, JITFunction, tl, tl.core, tl.math, tl.standard, tl.tensor, tl.dtype]
        patched += [InterpreterBuilder]
        patched += [
            getattr(tl.core, name) for name in ("tensor_descriptor_base", "_experimental_tensor_descriptor_base")
            if hasattr(tl.core, name)
        ]  # fmt: skip
        debugging = getattr(getattr(triton, "knobs", None), "compilation", None)
        self._undo = [(owner, dict(vars(owner))) for owner in patched]
        if debugging is not None:
            self._undo.append((debugging, dict(vars(debugging))))
            debugging.front_end_debugging = True  # what is raised in a kernel comes out as it is
        if not hasattr(InterpreterBuilder, "get_int1_ty"):
            _know_booleans(InterpreterBuilder)
        AsyncCompile.triton = lambda compiler, name, source, *rest, **more: self._kernel(source)
        JITFunction.__call__ = lambda function, *args, **kwargs: rewritten(function.fn)(*args, **kwargs)

    def _kernel(self, source: str) -> InterpretedKernel:
        kernel = InterpretedKernel(source)
        self._kernels.append(kernel)
        return kernel

    def put(self, module: types.ModuleType, name: str, path: Path) -> None:
        """Run the kernel ``name`` of a loaded wrapper as lines of the file ``path``, which holds its text."""
        kernel = vars(module).get(name)
        if not isinstance(kernel, InterpretedKernel):  # the wrapper was loaded before
            self._replaced.append((module, name, kernel))
            kernel = self._kernel("")
            setattr(module, name, kernel)
        kernel.path = path

    def stop(self) -> None:
        while self._undo:
            owner, before = self._undo.pop()
            for name in [name for name in vars(owner) if name not in before]:
                delattr(owner, name)
            for name, value in before.items():
                if vars(owner).get(name) is not value:
                    setattr(owner, name, value)
        for module, name, compiled in self._replaced:
            setattr(module, name, compiled)
        self._replaced.clear()
        self._forget_modules()
        _rewritten.clear()

    def _forget_modules(self) -> None:
        """A wrapper that was first loaded here is loaded again where it is needed next."""
        from torch._inductor.codecache import PyCodeCache

        for kernel in self._kernels:
            kernel.compiled = True
        ours = [
            module
            for module in list(PyCodeCache.modules)
            if any(isinstance(value, InterpretedKernel) for value in vars(module).values())
        ]
        for module in ours:
            PyCodeCache.modules.remove(module)
            loaded = getattr(PyCodeCache, "modules_no_attr", {})
            for path in [path for path, known in loaded.items() if known is module]:
                del loaded[path]
        self._kernels.clear()
