"""``AOTCompiledFunction`` of torch: what ``aot_compile`` returns, and what ``load_compiled_function`` does.

Input: such an object.  Output: its one compilation as a cache entry, and the function that it was made of.  Nothing is
called.
"""

from __future__ import annotations

import sys
import types
from typing import Any

from depyf.run.made import Made
from depyf.sources.live.caches.entries import LiveEntry
from depyf.sources.live.pure_access import attribute


def is_ahead(value: Any) -> bool:
    """Whether ``value`` is a function that was compiled ahead of time."""
    module = sys.modules.get("torch._dynamo.aot_compile")
    return module is not None and type(value) is attribute(module, "AOTCompiledFunction", ())


def ahead_entry(function: Any, compile_id: str, made: Made) -> LiveEntry:
    """Its code and its guards."""
    own = attribute(function, "fn")
    artifacts = attribute(function, "_artifacts")
    return LiveEntry(
        compile_id,
        own.__code__,
        attribute(artifacts, "guard_manager"),
        own.__globals__,
        None,
        made,
    )


def original_code(function: Any) -> types.CodeType:
    """The code that it was made of."""
    found = attribute(attribute(function, "_artifacts"), "original_code")
    if not isinstance(found, types.CodeType):
        raise TypeError("this torch keeps no original code of what it compiles ahead of time")
    return found
