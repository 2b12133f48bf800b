"""The ``depyf`` command.

Input: command line arguments.  Output: text on standard output, progress and summaries on standard error, and an exit
status that says what was achieved (``docs/cli.md``): 0 only when everything asked for is proven.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

MISSING_EXTRA = "depyf: the command line needs the package 'rich': pip install 'depyf[cli]'"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    given = sys.argv[1:] if argv is None else list(argv)
    if given[:1] not in (["run"], ["diff"], ["merge"], ["gallery"]):  # these print plain text
        try:
            import rich  # noqa: F401
        except ImportError:
            print(MISSING_EXTRA, file=sys.stderr)
            return 2
    from depyf.cli.commands import run

    return run(argv)
