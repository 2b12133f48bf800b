"""``depyf.decompiler``: the decompiler's public names, those of the published depyf 0.20 among them."""

from __future__ import annotations

import functools
import inspect
import os
import types
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.files.opening import Opened, open_code
from depyf.decompiler.driver.alone import decompile_alone
from depyf.decompiler.driver.live_class import live_class
from depyf.decompiler.driver.opened_files import decompile_opened
from depyf.decompiler.driver.pipeline import Decompiled, decompile_code, decompile_unit
from depyf.decompiler.emit.comments import source_lines
from depyf.decompiler.emit.defaults import NO_DEFAULTS, Defaults, defaults_of
from depyf.decompiler.options import Options
from depyf.errors import BytecodeError, DecompilationError, DepyfError
from depyf.safety.escape import file_name

__all__ = ["DecompilationError", "Decompiled", "Decompiler", "decompile", "decompile_pyc"]


def code_of(target: types.CodeType | Callable[..., Any]) -> types.CodeType:
    """The code object of ``target``, or of the function inside it (see ``owner_of_code``).  DepyfError for an object
    that has no bytecode."""
    return _code_and_function(target)[0]


def _code_and_function(target: Any) -> tuple[types.CodeType, types.FunctionType | None]:
    """The code object, and the function it was found in, if it was found in one."""
    owner = owner_of_code(target)
    if owner is None:
        raise DepyfError(
            f"{type(target).__name__} object has no bytecode: pass a Python function, method, lambda, "
            "generator or code object"
        )
    if isinstance(owner, types.CodeType):
        return owner, None
    return owner.__code__, owner


def owner_of_code(target: Any) -> types.CodeType | types.FunctionType | None:
    """The function inside ``target``, whose ``__code__`` can be exchanged, or a code object; None where there is none.

    Looked through are methods, ``functools.partial`` and its like, wrappers of ``lru_cache``, what ``torch.compile``
    and its ``aot_compile`` return, descriptors (``staticmethod``, ``property``), generators, and objects that can be
    called, modules among them.
    """
    seen: list[Any] = []
    while not any(target is known for known in seen):
        if isinstance(target, types.CodeType):
            return target
        compiled = _inside_torch(target) if isinstance(target, types.FunctionType) else None
        if isinstance(target, types.FunctionType) and compiled is None:
            return target
        seen.append(target)
        target = _one_step_inside(target) if compiled is None else compiled
    return None


def _inside_torch(function: types.FunctionType) -> Any:
    """What torch.compile was given, where ``function`` is what it made of that; else None."""
    if function.__code__.co_filename.endswith("external_utils.py"):  # around a function of torch's own
        return getattr(function, "__wrapped__", None)
    return getattr(function, "_torchdynamo_orig_callable", None)


_INSIDE = ("__func__", "func", "fget", "__wrapped__", "_orig_mod", "gi_code", "cr_code", "ag_code")
"""Of the types below: the attribute that leads to what they wrap."""
_MODULE_CALLS = ("_wrapped_call_impl", "_call_impl")
"""Through which an ``nn.Module`` calls its ``forward``."""
_WRAPPERS = (
    types.MethodType, staticmethod, classmethod, property, functools.partial, functools.partialmethod,
    functools.cached_property, functools.singledispatchmethod, types.GeneratorType, types.CoroutineType,
    types.AsyncGeneratorType,
)  # fmt: skip


def _one_step_inside(target: Any) -> Any:
    """What ``target`` wraps, or calls when it is called; itself where that cannot be told."""
    if isinstance(target, type) or not (isinstance(target, _WRAPPERS) or callable(target)):
        return target
    if isinstance(target, types.MethodType) and getattr(target.__func__, "__name__", "") in _MODULE_CALLS:
        return getattr(target.__self__, "forward", target.__func__)
    from depyf.sources.live.ahead.ahead_functions import ahead_functions, original_code

    if ahead := ahead_functions(target):
        return original_code(ahead[0])
    attributes = _INSIDE if isinstance(target, _WRAPPERS) else ("__wrapped__", "_orig_mod")
    for name in attributes:
        inner = getattr(target, name, None)
        if inner is not None and (callable(inner) or isinstance(inner, (types.CodeType, *_WRAPPERS))):
            return inner
    call = inspect.getattr_static(type(target), "__call__", None)
    forward = getattr(target, "forward", None)
    if callable(forward) and str(getattr(call, "__module__", "")).startswith("torch."):  # the call of an nn.Module
        return forward
    return target if isinstance(call, (types.WrapperDescriptorType, types.MethodWrapperType, type(None))) else call


def decompile(
    target: types.CodeType | Callable[..., Any] | bytes, *, version: str | tuple[int, int] | None = None
) -> str:
    """The Python source of ``target``: a code object, or a function, method, lambda, generator or other object that has
    one.

    ``bytes`` are those of a ``.pyc`` file, or marshal data of a code object, and give ``decompile_pyc(target,
    ...).shown``; ``version`` (``"3.11"``) says which CPython wrote them, where no header does.

    Looked through are ``functools.partial``, the wrapper of ``lru_cache``, what ``torch.compile`` returns, descriptors
    such as ``staticmethod``, modules and other objects that can be called.  A class gives a ``class`` statement with
    its methods, and those of its attributes that have a literal.

    The result is a ``str`` that ends in a newline.  It is proven to mean the same as the bytecode; otherwise its first
    line says so, and why.  Constants without a literal are defined at its top.  Where that is impossible, or a name is
    one that no source can have, the first line says so, too.

    The proof is about the code object.  Decorators and annotations are not part of it, and left out.  The current
    default values of a function are shown in its signature: as literals, as names of globals, or as ``__default_NAME``,
    which the first line mentions.  A code object has no defaults.  Code that Dynamo generated is shown as a dump shows
    it, the code of a comprehension or generator expression as a function that returns one.

    Raises DecompilationError where there is no translation, DepyfError for an object without bytecode, BytecodeError
    for bytes that are none.
    """
    if isinstance(target, (bytes, bytearray, memoryview)):
        return decompile_pyc(bytes(target), version=version).shown
    if version is not None:
        raise DepyfError("version is for bytes: other objects are of the running interpreter")
    if isinstance(target, type):
        return decompile_class(target, Options(), strict=True).shown
    code, function = _code_and_function(target)
    found = as_written(code, Options(), None, defaults=NO_DEFAULTS if function is None else defaults_of(function))
    return found.shown


def decompile_class(cls: type, options: Options, *, strict: bool = False) -> Decompiled:
    """A class with its methods; DepyfError for one that Python code did not make.  ``strict`` as in
    ``decompile_unit``."""
    live = live_class(cls, owner_of_code)
    found = decompile_unit(live.unit, options, strict=strict)
    return replace(found, needs=(*found.needs, *live.needs))


def as_written(
    code: types.CodeType, options: Options, name: str | None, *, defaults: Defaults = NO_DEFAULTS, runs: bool = False
) -> Decompiled:
    """``code`` decompiled: by the rungs for generated code if Dynamo wrote it, else by those for a compiler's.

    ``name`` replaces the function's name in the text.  ``runs``: the recompiled text will be executed, not only read.
    Raises DecompilationError.
    """
    from depyf.sources.live.recognise import as_dynamo_wrote

    found = as_dynamo_wrote(code)
    if found is not None:
        code, written = found
        if options.temp_prefix != Options().temp_prefix:
            written = replace(written, temp_prefix=options.temp_prefix)
        promises = replace(written.promises, display_only=written.promises.display_only and not runs)
        options = replace(written, indent=options.indent, promises=promises)
    elif not runs and (alone := decompile_alone(code, name, options)) is not None:
        return alone
    return decompile_code(code, name=name, options=options, defaults=defaults)


def decompile_pyc(
    path: str | os.PathLike[str] | bytes, *, python: str | None = None, version: str | tuple[int, int] | None = None
) -> Decompiled:
    """Decompile a ``.pyc`` of any CPython from 3.8 to 3.15, a file or its bytes; nothing in it is executed.

    ``bytes`` may be marshal data of a code object as well.  Where no header says which CPython wrote them, ``version``
    (``"3.11"``) does; without it the version is found by trying, and ``.note`` and the first line of ``.shown`` say so.

    The result has ``.source`` (a ``str``) and ``.verdicts``, one per code object, the module first.  The proof needs an
    interpreter of the file's version: ``python`` (a path), the running one, or one that is found on this machine;
    without one the verdicts are UNVERIFIED.  Raises BytecodeError for what is no valid ``.pyc``, OSError for a file
    that cannot be read.
    """
    return decompile_opened(_opened(path, version), Options(python=python))[0]


def _opened(path: str | os.PathLike[str] | bytes, version: str | tuple[int, int] | None) -> Opened:
    if isinstance(path, (bytes, bytearray, memoryview)):
        return open_code(bytes(path), version)
    try:
        return open_code(Path(path).read_bytes(), version, name=Path(path).name)
    except BytecodeError as error:
        raise BytecodeError(f"{os.fspath(path)}: {error}") from None


class Decompiler:
    """One code object to decompile (the published depyf's class)."""

    def __init__(self, code: types.CodeType | Callable[..., Any]) -> None:
        self.code = code_of(code)

    def decompile(self, indentation: int = 4, temp_prefix: str = "__temp_", overwite_fn_name: str | None = None) -> str:
        """Source text, with ``indentation`` spaces per level and temporaries named ``temp_prefix`` plus a number.

        ``overwite_fn_name`` (spelled as in depyf 0.20) replaces the function's name.  Raises DecompilationError where
        there is no translation, DepyfError for an ``indentation`` below 1 or a ``temp_prefix`` that begins no
        identifier.
        """
        return self._run(indentation, temp_prefix, overwite_fn_name).shown

    def _run(self, indentation: int, temp_prefix: str, name: str | None, runs: bool = False) -> Decompiled:
        if indentation < 1 or not temp_prefix.isidentifier():
            raise DepyfError("indentation must be at least 1, and temp_prefix the beginning of an identifier")
        return as_written(self.code, Options(indent=indentation, temp_prefix=temp_prefix), name, runs=runs)

    @staticmethod
    def decompile_and_compile_like(
        code_to_decompile: types.CodeType,
        reference_code: types.CodeType,
        indentation: int = 4,
        temp_prefix: str = "__temp_",
        filepath_template: str | None = None,
    ) -> types.CodeType:
        """The code recompiled from the decompiled source, under the name of ``reference_code``.

        With ``filepath_template`` (which may hold a ``%s`` for the function's name) the text is written to that file,
        as ``decompile`` shows it, and the code's lines refer to it.  Raises DecompilationError unless the source is
        proven.
        """
        decompiler = Decompiler(code_to_decompile)
        found = decompiler._run(indentation, temp_prefix, None, runs=True)
        if found.code is None or not found.proven:
            raise DecompilationError("the decompiled source is not proven", code_to_decompile.co_name)
        code = found.code
        if filepath_template is not None:
            name = file_name(code_to_decompile.co_name)
            path = filepath_template % name if "%s" in filepath_template else filepath_template
            shown = found.shown
            with open(path, "w", encoding="utf-8") as file:
                file.write(shown)
            above = len(source_lines(shown)) - len(source_lines(found.source))
            code = found.compile_at(path, 1 + above)
        return code.replace(co_name=reference_code.co_name)

    @staticmethod
    def supported_opnames() -> list[str]:
        """The version-free operations that the decompiler understands, sorted."""
        return sorted(value for name, value in vars(ops).items() if name.isupper() and isinstance(value, str))
