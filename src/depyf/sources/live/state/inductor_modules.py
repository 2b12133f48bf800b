"""What Inductor leaves in the process for each compilation, besides caches: modules of kernels, the recursion limit.

Input: nothing; the process as it is.  Output: a context, after which ``sys.modules`` has no kernel that was compiled in
it, and the recursion limit is what it was.  Compiled code holds its kernels itself: torch takes them out of
``sys.modules``, too, when its caches are cleared, and loads one again that is needed again.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

from depyf.safety.guarded import Door, warn

_RAISED = 2000
"""The recursion limit that Inductor asks for in each compilation (``compile_fx.py``)."""


@contextlib.contextmanager
def no_modules_of_kernels() -> Iterator[None]:
    """Inside, graphs can be compiled with Inductor."""
    before, limit = set(sys.modules), sys.getrecursionlimit()
    try:
        yield
    finally:
        with Door("depyf: what Inductor loaded for an answer stays in sys.modules", warn):
            for name in _kernels() - before:
                sys.modules.pop(name, None)
        with Door("depyf: Inductor has raised the recursion limit", warn):
            _lower_again(limit)


def _kernels() -> set[str]:
    """The names of the modules that Inductor made of generated code and has in ``sys.modules``."""
    codecache: Any = sys.modules.get("torch._inductor.codecache")
    if codecache is None:
        return set()
    names = set(getattr(getattr(codecache, "CppPythonBindingsCodeCache", None), "_loaded_module_names", ()))
    made: list[Any] = list(getattr(getattr(codecache, "PyCodeCache", None), "modules", ()))
    return names | {name for one in made if sys.modules.get(name := str(one.__name__)) is one}


def _lower_again(limit: int) -> None:
    """No compilation needs the higher limit then: torch's lock is held meanwhile, and each one raises it anew."""
    if limit >= _RAISED or sys.getrecursionlimit() != _RAISED:
        return
    from torch._dynamo.convert_frame import compile_lock

    with compile_lock, contextlib.suppress(RecursionError):  # the program's own calls are deeper
        sys.setrecursionlimit(limit)
