"""After a block the process is as before: handlers, hooks, slots of ``atexit``, lines kept, files, threads, settings, memory."""

import atexit
import gc
import linecache
import logging
import os
import signal
import sys
import threading
import tracemalloc
import warnings

import pytest
import torch
from torch._dynamo import convert_frame

import depyf

pytestmark = pytest.mark.torch

BLOCKS = 20


def inventory():
    gc.collect()
    loggers = {"": logging.root, **logging.root.manager.loggerDict}
    known = {
        name: (logger.level, logger.propagate, logger.disabled, list(map(id, logger.handlers)), list(map(id, logger.filters)))
        for name, logger in loggers.items()
        if isinstance(logger, logging.Logger)
    }  # fmt: skip
    handlers = [id(handler) for reference in logging._handlerList if (handler := reference()) is not None]
    return {
        "loggers": known,
        "handlers": (handlers, len(logging._handlerList), list(logging._handlers)),
        "atexit": atexit._ncallbacks(),
        "linecache": sorted(linecache.cache),
        "warnings": list(map(str, warnings.filters)),
        "gc": (list(gc.callbacks), gc.get_threshold(), gc.isenabled()),
        "threading": (threading.gettrace(), threading.getprofile(), threading.excepthook, threading.enumerate()),
        "sys": (
            sys.gettrace(), sys.getprofile(), sys.excepthook, sys.displayhook, sys.breakpointhook, sys.unraisablehook,
            sys.getrecursionlimit(), sys.getswitchinterval(), list(sys.path), list(sys.meta_path), list(sys.path_hooks),
        ),
        "signals": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "files": sorted(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else [],
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "torch": (
            list(convert_frame._bytecode_hooks), torch._dynamo.config.save_config(), torch._inductor.config.save_config(),
            torch.is_grad_enabled(), torch.get_rng_state().tolist(), torch._dynamo.callback.callback_handler.__dict__.copy(),
        ),
    }  # fmt: skip


def differences(before, after):
    return {name: (before[name], after[name]) for name in before if before[name] != after[name]}


def measured(folder, work):
    """What differs after ``BLOCKS`` blocks, and by how many bytes the process has grown for each: in the half of them in
    which it grew less, for what stays is kept in both, and what earlier tests in this process left to do is done once."""
    import torch._inductor.config  # noqa: F401

    for number in range(3):  # modules come in, caches fill
        with depyf.prepare_debug(folder(number)):
            work(number)
    gc.collect()  # what waits for the collector does not stay
    tracemalloc.start()
    before = inventory()
    half, grown = BLOCKS // 2, []
    for start in (3, 3 + half):
        used = tracemalloc.get_traced_memory()[0]
        for number in range(start, start + half):
            with depyf.prepare_debug(folder(number)):
                work(number)
        gc.collect()
        grown.append(tracemalloc.get_traced_memory()[0] - used)
    after = inventory()
    tracemalloc.stop()
    return differences(before, after), min(grown) / half


def test_nothing_but_what_the_program_made(tmp_path):
    """In each block something new is compiled.  What stays is the record of a folder, to which a later block may add."""
    compiled = [torch.compile(lambda x, number=number: x + number, backend="eager") for number in range(3 + BLOCKS)]
    found, grown = measured(lambda number: tmp_path / str(number), lambda number: compiled[number](torch.ones(3)))
    assert found == {}
    assert grown < 20 << 10


def test_nothing_at_all_where_nothing_is_compiled(tmp_path):
    found, grown = measured(lambda number: tmp_path, lambda number: None)
    assert found == {} and grown < 1 << 10


def test_nothing_after_an_exception(tmp_path):
    def work():
        with pytest.raises(ZeroDivisionError), depyf.prepare_debug(tmp_path):
            torch.compile(lambda x: x + 1 // 0, backend="eager")(torch.ones(2))

    work()
    before = inventory()
    work()
    assert differences(before, inventory()) == {}


def test_nothing_of_debug(tmp_path, monkeypatch):
    monkeypatch.setenv("DEPYF_NO_PAUSE", "1")
    compiled = torch.compile(lambda x: x + 1, backend="eager")
    with depyf.prepare_debug(tmp_path):
        compiled(torch.ones(2))
    for turn in range(2):
        before = inventory()
        with depyf.debug():
            compiled(torch.ones(2))
        found = differences(before, inventory())
        assert turn == 0 or found == {}
