"""The ``depyf`` command.

Input: command line arguments.  Output: text on standard output, progress and summaries on standard error, and an exit
status that says what was achieved (``docs/reference/cli.md``): 0 only when everything asked for is proven.  It needs
nothing but Python; where the package 'rich' is installed there is a progress bar.
"""

from __future__ import annotations

from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    from depyf.cli.commands import run

    return run(argv)
