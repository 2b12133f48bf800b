"""Events are read where torch asks whether anybody listens, or from its log records where others listen too: the same dump."""

from __future__ import annotations

import json
import logging
import re

import pytest
import torch

import depyf
from depyf.run.files.checksums import line_checksums, whole_checksum
from depyf.sources.live.events.listening import TRACE_LOGGER

pytestmark = pytest.mark.torch


_SERIAL = re.compile(r"(?<=_resume_at_)(\d+)_\d+")
"""torch numbers what it generates through the whole process."""


class Other(logging.Handler):
    """Another listener to torch's trace."""

    def __init__(self):
        super().__init__(logging.DEBUG)
        self.heard = 0

    def emit(self, record):
        self.heard += 1


@torch._dynamo.disable
def probe(x):
    return x


def program(backend):
    """Breaks, a recompilation, a symbol, a backward pass, a frame that fails, one that has nothing to compile."""

    def step(x, n):
        y = probe(torch.sin(x)) * n
        return (y + x.shape[0]).sum()

    def refused(x):
        return torch.ones(int(x.sum())) if x.sum() > 0 else x

    def idle(n):
        return n + 1

    compiled = torch.compile(step, backend=backend)
    for size, n in ((3, 1), (4, 1), (5, 2), (6, 3)):
        compiled(torch.ones(size, requires_grad=True), n).backward()
    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch.compile(refused, backend=backend, fullgraph=True)(torch.ones(2))
    torch.compile(idle, backend=backend)(1)


def dumped(folder, backend, *others):
    """Every file of a dump but the one with times."""
    torch._dynamo.reset()
    logger = logging.getLogger(TRACE_LOGGER)
    for other in others:
        logger.addHandler(other)
    try:
        with depyf.prepare_debug(folder):
            program(backend)
    finally:
        for other in others:
            logger.removeHandler(other)
    written = {path.name: path.read_text() for path in sorted(folder.iterdir())}
    times = json.loads(written.pop("timings.json"))
    written["manifest.json"] = _without_checksums(written)
    return {name: _SERIAL.sub(r"\1", text) for name, text in written.items()}, times


def _without_checksums(written):
    """The manifest, checksums compared with the files: a number of torch's in a file is in its checksums, too."""
    manifest = json.loads(written["manifest.json"])
    known = [entry for entry in manifest["files"] if "sha256" in entry]
    assert known
    for entry in known:
        text = written[entry["file"]]
        assert (entry.pop("sha256"), entry.pop("line_checksums")) == (whole_checksum(text), line_checksums(text))
    return json.dumps(manifest, indent=1)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_another_listener_changes_nothing(tmp_path, backend):
    """Nor does it miss anything; the phases that are timed are the same."""
    other = Other()
    alone, times = dumped(tmp_path / "alone", backend)
    together, others_times = dumped(tmp_path / "together", backend, other)
    assert other.heard > 50
    assert alone == together
    phases = [{key: _named(found) for key, found in each["seconds"].items()} for each in (times, others_times)]
    assert phases[0] == phases[1] and any(phases[0].values())
    whole = [{key: _whole(found) for key, found in each["phases"].items()} for each in (times, others_times)]
    assert whole[0] == whole[1] and all(whole[0].values())


def _named(seconds):
    """The phases that torch sums up, but for what another listener costs."""
    return sorted(set(seconds) - {"structured_logging_overhead"})


def _whole(phases):
    """Whether the span of the whole compilation is there: whether a short phase is depends on the clock."""
    return any(phase["name"] == "entire_frame_compile" for phase in phases)


def test_an_event_that_fails_is_a_note(tmp_path):
    """What torch cannot tell us is no reason for a compilation to fail."""

    def broken():
        raise RuntimeError("no text")

    with depyf.prepare_debug(tmp_path):
        torch.compile(torch.sin, backend="eager")(torch.ones(2))
        torch._logging.trace_structured("dynamo_output_graph", payload_fn=broken)
    notes = json.loads((tmp_path / "manifest.json").read_text())["notes"]
    assert notes == ["an event of torch could not be recorded: RuntimeError: no text"]


@pytest.mark.parametrize("somebody", [True, False])
def test_the_list_of_handlers_is_as_before(tmp_path, somebody):
    logger = logging.getLogger(TRACE_LOGGER)
    before, held, other = logger.handlers, list(logger.handlers), Other()
    with depyf.prepare_debug(tmp_path):
        if somebody:
            logger.addHandler(other)
            held.append(other)
    assert logger.handlers == held and logger.handlers is before
    logger.removeHandler(other)
