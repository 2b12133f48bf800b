"""What is wrong with a command line: errors that become one line and an exit status."""

from __future__ import annotations

from depyf.errors import DepyfError


class UsageError(DepyfError):
    """The arguments on the command line contradict each other or have no meaning."""


class InputError(DepyfError):
    """An input named on the command line cannot be read."""
