"""A listener leaves the logger as it was, in whatever order listeners come and go."""

from __future__ import annotations

import itertools
import logging
import sys
import types

import pytest

from depyf.safety.guarded import Door
from depyf.sources.live.events.asked_logger import AskedLogger

MODULE = "a_module_with_a_logger"


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_listeners_come_and_go(monkeypatch, order):
    module = types.ModuleType(MODULE)
    module.log = logger = logging.Logger("asked")
    monkeypatch.setitem(sys.modules, MODULE, module)
    heard: list[int] = []
    listeners = [AskedLogger(MODULE, "log", lambda frame, n=n: heard.append(n), Door("t")) for n in range(3)]
    for listener in listeners:
        listener.start()
    on = set(range(3))
    for number in order:
        heard.clear()
        logger.debug("nothing")
        assert set(heard) == on and len(heard) == len(on)
        listeners[number].stop()
        on.discard(number)
    assert "isEnabledFor" not in vars(logger)


def test_the_answer_is_that_of_the_logger(monkeypatch):
    module = types.ModuleType(MODULE)
    module.log = logger = logging.Logger("asked", logging.INFO)
    monkeypatch.setitem(sys.modules, MODULE, module)

    def fails(frame: types.FrameType) -> None:
        raise ValueError

    listener = AskedLogger(MODULE, "log", fails, Door("t"))
    listener.start()
    assert logger.isEnabledFor(logging.INFO) and not logger.isEnabledFor(logging.DEBUG)
    listener.stop()
    assert logger.isEnabledFor(logging.INFO) and "isEnabledFor" not in vars(logger)
