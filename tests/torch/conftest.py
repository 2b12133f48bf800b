"""Shared by the torch tests: each runs in a fresh Dynamo, with nothing left behind."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def fresh_dynamo():
    """Compilations of one test are unknown to the next; no hook, handler or context survives it."""
    import logging

    from torch._dynamo import convert_frame

    torch._dynamo.reset()
    hooks = dict(convert_frame._bytecode_hooks)
    handlers = list(logging.getLogger("torch.__trace").handlers)
    yield
    assert dict(convert_frame._bytecode_hooks) == hooks
    assert [h for h in logging.getLogger("torch.__trace").handlers if "Lazy" not in type(h).__name__] == [
        h for h in handlers if "Lazy" not in type(h).__name__
    ]
    torch._dynamo.reset()
