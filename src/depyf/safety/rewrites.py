"""The rewrites that a pass makes, one by one, for a listener: ``depyf passes --steps`` lists them.

A pass calls ``step`` for each of its rewrites.  Without a listener that reads one variable.  A listener may raise to
stop after one of them; it travels with the work into depyf's threads, as every context variable does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str, object], None]
"""Is told what a rewrite does, as an imperative, and what it has made: a statement, an expression, the number of an
instruction."""

_listener: ContextVar[Listener | None] = ContextVar("depyf_rewrites", default=None)


def step(name: str, made: object = None) -> None:
    """Report one rewrite to the listener, right after it."""
    listener = _listener.get()
    if listener is not None:
        listener(name, made)


def is_heard() -> bool:
    """Whether there is a listener."""
    return _listener.get() is not None


@contextmanager
def heard_by(listener: Listener | None) -> Iterator[None]:
    """While the block lasts, ``listener`` gets each rewrite; None: none does."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
