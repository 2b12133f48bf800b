"""Small helpers of the published depyf, under the same names."""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from depyf.decompiler.bytecode.codeunit import codes
from depyf.decompiling import owner_of_code
from depyf.errors import DepyfError


def get_code_owner(fn: Any) -> Any:
    """The object whose ``__code__`` can be exchanged: the function inside ``fn``, or ``fn`` itself for a code object.

    Methods, ``functools.partial`` objects, wrappers of ``lru_cache``, compiled functions, modules and other callables
    are looked through.  DepyfError where there is none.
    """
    owner = owner_of_code(fn)
    if owner is None:
        raise DepyfError(f"{type(fn).__name__} object has no Python bytecode")
    return owner


def decompile_ensure(fn: Callable[..., Any] | types.CodeType, overwite_fn_name: str | None = None) -> str:
    """The decompiled source of ``fn``; where that fails, a function of the same signature that says why."""
    from depyf.decompiler.options import Options
    from depyf.decompiling import as_written

    owner = get_code_owner(fn)
    code: types.CodeType = owner if isinstance(owner, types.CodeType) else owner.__code__
    try:
        return as_written(code, Options(), overwite_fn_name).shown
    except DepyfError as error:
        return get_function_signature(code, overwite_fn_name) + f"    {str(error)!r}\n"


def get_function_signature(code_obj: types.CodeType, overwite_fn_name: str | None = None) -> str:
    """``def name(parameters):`` and a newline, for a code object."""
    from depyf.safety.escape import safe_name
    from depyf.sources.live.recording.code_record import code_record

    record = code_record(code_obj)
    name = overwite_fn_name or safe_name(record.name, longest=sys.maxsize)
    arguments = tuple(argument.replace(".", "comp_arg_") for argument in record.args)  # of a comprehension: ".0"
    return f"def {name}({replace(record, args=arguments).parameters}):\n"


def collect_all_code_objects(code: types.CodeType) -> list[types.CodeType]:
    """``code`` and every code object nested in it, outermost first."""
    return list(codes(code))


def safe_create_directory(path: str | os.PathLike[str]) -> None:
    """Create ``path`` with its parents; another process may do so at the same time.  DepyfError where that is not
    possible."""
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise DepyfError(f"cannot create the directory {os.fspath(path)!r}: {error}") from error
