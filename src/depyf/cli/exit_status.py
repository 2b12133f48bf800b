"""The exit statuses of the command."""

from __future__ import annotations

import enum


class ExitStatus(enum.IntEnum):
    """Exit statuses, documented in ``docs/reference/cli.md``; of several inputs the largest wins."""

    PROVEN = 0
    UNPROVEN = 1
    USAGE = 2
    FAILED = 3
    UNREADABLE = 4


INTERRUPTED = 130
"""As a shell has it: 128 and the number of the signal."""
