"""Shared by the torch tests: each runs in a fresh Dynamo, and leaves nothing to the next."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

torch = pytest.importorskip("torch")

from depyf.sources.live.ahead import ahead_functions  # noqa: E402


@pytest.fixture(autouse=True)
def fresh_dynamo():
    """Compilations of one test are unknown to the next; no hook, handler or context survives it."""
    import logging

    from torch._dynamo import convert_frame

    from depyf import contexts

    torch._dynamo.reset()
    hooks = dict(convert_frame._bytecode_hooks)
    handlers = list(logging.getLogger("torch.__trace").handlers)
    yield
    left_open = contexts._Current.active
    try:
        if left_open is not None:  # of a test that failed: later tests can enter one
            contexts._leave(left_open)
        assert left_open is None, "the test did not leave depyf.prepare_debug"
        assert dict(convert_frame._bytecode_hooks) == hooks
        assert [h for h in logging.getLogger("torch.__trace").handlers if "Lazy" not in type(h).__name__] == [
            h for h in handlers if "Lazy" not in type(h).__name__
        ]
    finally:
        convert_frame._bytecode_hooks.clear()
        convert_frame._bytecode_hooks.update(hooks)
        torch._dynamo.reset()
        if ahead_functions._NAMED:
            gc.collect()


@pytest.fixture(autouse=True, scope="module")
def nothing_ahead_of_time():
    """What another file compiled ahead of time lives until it is collected: a recording would list it."""
    if ahead_functions.ahead_alive():
        gc.collect()


@pytest.fixture
def heap_of_its_own():
    """The collector searches only what the test makes: what other tests left is a million objects, and may hold tensors."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
