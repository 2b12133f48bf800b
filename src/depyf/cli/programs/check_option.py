"""``--check`` of ``depyf run`` and ``depyf doctor``: which calls are compared with Python."""

from __future__ import annotations

import argparse
from typing import NamedTuple

from depyf.cli.input_errors import InputError

EVERY = 100
SECONDS = 60.0


class Check(NamedTuple):
    """Which calls of each cache entry are compared, besides 1, 2, 4, 8, ..., and for how many seconds in all."""

    every: int = EVERY
    seconds: float = SECONDS


def add_check_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--check",
        action="store_true",
        help="make calls of compiled functions as Python, too, and compare: calls 1, 2, 4, 8, ... of each cache "
        f"entry, and each {EVERY}th; a call that can write to a file or a socket is not compared",
    )
    parser.add_argument("--check-every", type=int, metavar="N", help="the same, with each Nth call")
    parser.add_argument(
        "--check-seconds", type=float, metavar="S", help=f"spend at most S seconds on it (default: {SECONDS:.0f})"
    )


def check_of(options: argparse.Namespace) -> Check | None:
    """None where nothing is to be compared.  InputError where a number makes no sense."""
    every, seconds = options.check_every, options.check_seconds
    if every is not None and every < 1:
        raise InputError(f"--check-every is {every}: it must be positive")
    if seconds is not None and not seconds > 0:
        raise InputError(f"--check-seconds is {seconds:g}: it must be positive")
    if not options.check and every is None and seconds is None:
        return None
    return Check(EVERY if every is None else every, SECONDS if seconds is None else seconds)
