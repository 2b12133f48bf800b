"""What is wrong with a command line: errors that become one line and an exit status."""

from __future__ import annotations

from depyf.errors import DepyfError


class UsageError(DepyfError):
    """The command line asks for something that makes no sense."""


class InputError(DepyfError):
    """The user named something that cannot be read."""
