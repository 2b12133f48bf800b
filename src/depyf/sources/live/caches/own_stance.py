"""A stance of torch.compile for the calls of one thread.

``torch.compiler.set_stance`` holds for the whole process.  Here torch's stance is exchanged for one that answers other
threads as the program's does.

Input: the name of a stance.  Output: a context.  Invariants: no other thread is told anything new; afterwards torch has
the program's stance again, whatever the call set.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any


class _OwnStance:
    """What torch asks for: ``stance``, ``skip_guard_eval_unsafe``, ``backend``, ..., by the thread that asks."""

    def __init__(self, own: Any, others: Any) -> None:
        self._thread: int | None = threading.get_ident()
        self._own = own
        self._others = others

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own if threading.get_ident() == self._thread else self._others, name)

    def end(self) -> None:
        """A thread that has set a stance meanwhile may put this one back later: it is the program's from now on."""
        self._thread = None


@contextlib.contextmanager
def own_stance(name: str, skips_guards: bool = False) -> Iterator[None]:
    """Inside, the calls of this thread run under the stance ``name``, with the program's guards left out if
    ``skips_guards``."""
    from torch._dynamo import eval_frame

    before: Any = eval_frame._stance
    ours = _OwnStance(eval_frame.DynamoStance(name, skips_guards), before)
    eval_frame._stance = ours
    try:
        yield
    finally:
        ours.end()
        if eval_frame._stance is not before:
            eval_frame._stance = before
