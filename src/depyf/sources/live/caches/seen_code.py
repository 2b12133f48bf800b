"""The code objects that Dynamo has seen in this process: compiled before depyf listened, or never compiled.

Input: torch's own table of seen code.  Output: live objects, to be looked at and let go.  A torch without that table
gives nothing.
"""

from __future__ import annotations

import gc
import inspect
import sys
import types
import weakref
from collections.abc import Iterable
from typing import ClassVar

from depyf.sources.live.caches.entries import cache_entries
from depyf.sources.reports.library_files import of_libraries

_GENERATORS = inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR


def codes_seen() -> list[types.CodeType]:
    """Every code object that Dynamo was offered since its last reset, in that order, as far as they live."""
    try:
        from torch._dynamo.convert_frame import input_codes

        found = [reference() for reference in list(input_codes.seen)]
    except (ImportError, AttributeError, TypeError):
        return []
    return [code for code in found if isinstance(code, types.CodeType)]


def entries_alive() -> list[tuple[types.CodeType, str]]:
    """Each seen code object with the id of each of its compilations that is in the cache."""
    return [(code, entry.compile_id) for code in codes_seen() for entry in cache_entries(code)]


def why_never_compiled(codes: Iterable[types.CodeType]) -> dict[types.CodeType, str]:
    """Why Dynamo did not even try; without library code, which it is meant to leave alone.

    With compiled autograd Dynamo is offered its own helpers too, and the standard library's.
    """
    found = {code: reason for code in codes if (reason := _reason(code))}
    if _NO_TENSOR in found.values():
        for code in _disabled():
            if found.get(code) == _NO_TENSOR:
                found[code] = "it was excluded from compilation by torch.compiler.disable(recursive=False)"
    return found


_NO_TENSOR = "no tensor, module or array was among its arguments and globals"


def _disabled() -> list[types.CodeType]:
    """The code of functions wrapped by ``torch.compiler.disable(recursive=False)``: torch makes all wrappers of one
    code.

    A search for references to the code visits every object of the process (tens of milliseconds). Its result is kept
    while all of it lives and the number of references stays.
    """
    try:
        from torch._dynamo.decorators import _nonrecursive_disable_wrapper_code as shared
    except ImportError:
        return []
    count = _Found.count
    wrappers = [found for reference in _Found.wrappers if (found := reference()) is not None]
    if count != sys.getrefcount(shared) - len(wrappers) or len(wrappers) < len(_Found.wrappers):
        wrappers = [found for found in gc.get_referrers(shared) if isinstance(found, types.FunctionType)]
        _Found.wrappers = [weakref.ref(found) for found in wrappers]
        _Found.count = sys.getrefcount(shared) - len(wrappers)
    wrapped = [getattr(wrapper, "_torchdynamo_orig_callable", None) for wrapper in wrappers]
    return [function.__code__ for function in wrapped if isinstance(function, types.FunctionType)]


class _Found:
    """The wrappers found last, and how many references the code they share had besides theirs."""

    count: ClassVar[int] = -1
    wrappers: ClassVar[list[weakref.ref[types.FunctionType]]] = []


def _reason(code: types.CodeType) -> str:
    if of_libraries(code.co_filename):
        return ""
    try:
        from torch._dynamo import trace_rules

        if trace_rules.check(code):
            return ""
    except Exception:  # an internal function of torch: whatever it raises, nothing is known
        return ""
    if code.co_flags & _GENERATORS:
        return "it is a generator: Dynamo compiles a generator only within a function that uses it"
    if code.co_name == "__setattr__":
        return "__setattr__ is never compiled"
    return _NO_TENSOR
