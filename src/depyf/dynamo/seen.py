"""The code objects that Dynamo has seen in this process: what was compiled before we listened, and what never was.

Input: torch's own table of seen code.  Output: live objects, to be looked at and let go.  A torch without that table
gives nothing.
"""

from __future__ import annotations

import inspect
import types

from depyf.dynamo.entries import cache_entries

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


def why_never_compiled(code: types.CodeType) -> str:
    """Why Dynamo did not even try; "" for library code, which it is meant to leave alone."""
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
    return "no tensor, module or array was among its arguments and globals"
