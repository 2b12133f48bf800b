"""Ctrl-C in tests.  A shell has what it starts in the background ignore it, and each process passes that on to those it starts."""

from __future__ import annotations

import signal


def hear_interrupts() -> None:
    """``preexec_fn`` of a program that a test interrupts, or compares with one that ``with_torch`` runs: those all hear it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
