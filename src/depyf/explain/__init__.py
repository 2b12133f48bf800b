"""Explain a compiled function after the fact: ``dump_src``."""

from __future__ import annotations

from typing import Any

__all__ = ["dump_src"]


def dump_src(fn: Any) -> str:
    """The ``full_code_for_*`` page of ``fn`` as torch's cache holds it now, also if it was compiled without depyf.

    ``fn`` is a compiled or plain function, method or module.  DepyfError where it has no bytecode.
    """
    from depyf.explain.cached import cached_source

    return cached_source(fn)
