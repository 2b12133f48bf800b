"""After ``depyf.debug()`` the process is as before, whatever the level, and however the block ends."""

from __future__ import annotations

import bdb
import logging
import signal
import sys
import threading
import warnings

import pytest
import torch
from dumps import precompiled
from torch._dynamo.utils import counters

import depyf
from depyf.contexts import _Current
from depyf.sources.live.caches.code_exchange import module_functions
from depyf.sources.live.caches.entries import cache_entries

pytestmark = pytest.mark.torch


def network(x, w):
    h = torch.tanh(x @ w)
    print("between")
    return (h * w.sum()).sum()


def live(code):
    """The entries that torch can still run; those that ``debug`` took out stay in its list as deleted ones."""
    entries = [entry for entry in cache_entries(code) if "Deleted" not in type(entry.manager).__name__]
    return [(entry.compile_id, entry.code, entry.manager, entry.backend) for entry in entries]


def codes_of_session():
    """Every function whose code ``debug`` may exchange, with its code."""
    session = _Current.last
    functions = [type(match.module).__dict__["forward"] for match in session.live_graphs()]
    for record in session.record.graphs:
        functions += module_functions(record.path) if record.path else []
    return {function: function.__code__ for function in functions}


def monitored():
    """The tools of ``sys.monitoring``, and what they want to hear of."""
    monitoring = getattr(sys, "monitoring", None)
    tools = [(number, monitoring.get_tool(number)) for number in range(6)] if monitoring else []
    return [(number, tool, monitoring.get_events(number)) for number, tool in tools if tool is not None]


def state(codes):
    import torch._functorch.config as functorch_config
    import torch._inductor.config as inductor_config
    from torch._C._dynamo import eval_frame as c
    from torch._dynamo import convert_frame, eval_frame

    return {
        "functions": codes_of_session(),
        "entries": [live(code) for code in codes],
        "precompiled": [precompiled(code) for code in codes],
        "callback": (c.get_eval_frame_callback(), eval_frame._callback_from_stance, eval_frame._stance),
        "hooks": (dict(convert_frame._bytecode_hooks), dict(convert_frame._bytecode_hooks)),
        "patched": [dict(vars(owner)) for owner in (convert_frame.CatchErrorsWrapper, torch.fx.Interpreter)],
        "config": [str(config.get_config_copy()) for config in (torch._dynamo.config, functorch_config, inductor_config)],
        "tracing": (sys.gettrace(), sys.getprofile(), monitored()),
        "python": (sys.breakpointhook, sys.excepthook, threading.excepthook, list(warnings.filters)),
        "signals": [signal.getsignal(number) for number in sorted(signal.valid_signals())],
        "breakpoints": (list(bdb.Breakpoint.bpbynumber), dict(bdb.Breakpoint.bplist)),
        "logging": [list(logging.getLogger(name).handlers) for name in ("torch", "torch.__trace", "torch._dynamo")],
        "torch": (torch.is_grad_enabled(), torch.get_default_dtype(), torch._C._len_torch_function_stack(),
                  getattr(torch._C._autograd, "_top_saved_tensors_default_hooks", bool)(True), torch.get_rng_state().tolist()),
        "threads": {thread.name for thread in threading.enumerate() if thread.name.startswith("depyf")},
    }  # fmt: skip


class Stop(Exception):
    pass


def ends(fn, x, w):
    fn(x, w).backward()


def raises(fn, x, w):
    fn(x, w)
    raise Stop


def nests(fn, x, w):
    with depyf.debug():
        fn(x, w)
    fn(x, w)


def on_a_thread(fn, x, w):
    thread = threading.Thread(target=lambda: fn(x, w).backward())
    thread.start()
    thread.join()


@pytest.mark.parametrize("arguments", [{}, {"level": "graph"}, {"level": "aot"}, {"stop_on": "nan"}], ids=str)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_as_before(backend, arguments, tmp_path, monkeypatch):
    monkeypatch.setenv("DEPYF_NO_PAUSE", "1")
    torch._dynamo.reset()
    fn = torch.compile(network, backend=backend)
    x, w = torch.ones(2, 3), torch.eye(3, requires_grad=True)
    with depyf.prepare_debug(tmp_path / "dump"):
        ends(fn, x, w)
    from depyf.sources.live.caches.seen_code import codes_seen

    codes = [
        network.__code__,
        *(code for code in codes_seen() if code.co_name.startswith("torch_dynamo_resume_in_network")),
    ]
    assert len(codes) == 2
    expected = fn(x, w)
    before = state(codes)
    for body in (ends, raises, nests, on_a_thread):
        try:
            with depyf.debug(**arguments):
                body(fn, x, w)
        except Stop:
            assert body is raises
        after = state(codes)
        for name in before:
            assert after[name] == before[name], (body.__name__, name)
    frames = dict(counters["frames"])
    assert torch.equal(fn(x, w), expected)
    assert dict(counters["frames"]) == frames, "the program's own entries are used again"


def test_a_debugger_that_is_quit_in_the_pause(tmp_path, monkeypatch):
    """Between entering and the block: there is no exit then."""
    fn = torch.compile(network, backend="eager")
    x, w = torch.ones(2, 3), torch.eye(3, requires_grad=True)
    with depyf.prepare_debug(tmp_path / "dump"):
        fn(x, w)
    before = state([network.__code__])

    def quits(*_):
        raise bdb.BdbQuit

    monkeypatch.setattr("depyf.contexts.pause", quits)
    for arguments in ({}, {"level": "aot"}):
        with pytest.raises(bdb.BdbQuit), depyf.debug(**arguments):
            raise AssertionError("not reached")
        assert state([network.__code__]) == before


def test_dump_after_entries_were_given_up(tmp_path, monkeypatch):
    """Entries that ``debug(level=...)`` has taken out are no obstacle to the next dump."""
    monkeypatch.setenv("DEPYF_NO_PAUSE", "1")
    fn = torch.compile(network, backend="eager")
    x, w = torch.ones(2, 3), torch.eye(3, requires_grad=True)
    with depyf.prepare_debug(tmp_path / "one"):
        fn(x, w)
    with depyf.debug(level="aot"):
        fn(x, w)
    with depyf.prepare_debug(tmp_path / "two"):
        fn(torch.ones(4, 3), w)
    assert _Current.last.capture.notes == []
    with depyf.debug():
        fn(x, w)
