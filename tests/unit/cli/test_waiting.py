"""A command that takes its time says what it does, on a terminal alone."""

from __future__ import annotations

import io
import threading

from depyf.cli.waiting import no_longer, waiting


class Terminal(io.StringIO):
    def __init__(self, terminal: bool = True) -> None:
        super().__init__()
        self._terminal = terminal
        self.written = threading.Event()

    def isatty(self) -> bool:
        return self._terminal

    def flush(self) -> None:
        self.written.set()


def test_it_says_so_and_clears_the_line() -> None:
    stream = Terminal()
    with waiting("report: writing\x1b[2J", stream, patience=0.001):
        assert stream.written.wait(60)
    said = stream.getvalue()
    assert said.startswith("\r\x1b[Kdepyf: report: writing") and said.endswith("\r\x1b[K") and "\x1b[2J" not in said


def test_what_is_written_ends_it() -> None:
    stream = Terminal()
    with waiting("report: writing", stream, patience=0.001):
        assert stream.written.wait(60)
        no_longer()
        said = stream.getvalue()
        assert said.endswith("\r\x1b[K")
        no_longer()
    assert stream.getvalue() == said


def test_what_is_quick_or_no_terminal_says_nothing() -> None:
    for stream, patience in ((Terminal(), 600.0), (Terminal(terminal=False), 0.0)):
        with waiting("report: writing", stream, patience):
            pass
        assert not stream.getvalue()
    with waiting("report: writing", None, 0.0):
        pass


def test_its_thread_ends_with_an_error_too() -> None:
    before = threading.active_count()
    try:
        with waiting("report: writing", Terminal(), 600.0):
            raise KeyError
    except KeyError:
        pass
    assert threading.active_count() == before
