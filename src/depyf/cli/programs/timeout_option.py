"""``--timeout`` of the commands that run a program."""

from __future__ import annotations

from depyf.cli.output import complain


def is_no_timeout(seconds: float | None) -> bool:
    """Whether ``seconds`` cannot be a limit; says so."""
    if seconds is None or seconds > 0:
        return False
    complain(f"--timeout is {seconds:g}: it must be positive (seconds); without it a run has no limit")
    return True
