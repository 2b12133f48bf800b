"""How the help of a command is laid out: as wide as the terminal, whatever is in it.

Input: text whose lines are to be kept: examples with remarks, tables of exit statuses.  Output: the same lines; one
that is longer than the terminal is wide goes on below the column where its last part begins, or has that part below it.
"""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from typing import Any

from depyf.cli.output import writing_output

_PARTS = re.compile(r"(?P<before> *\S.*? {2,})(?P<said>\S.*)")
_FURTHER = 4
"""Columns that the rest of an example is moved to the right."""
_MOST_BEFORE = 0.65
"""Of the width: what stands before the last part."""


class HelpLayout(argparse.HelpFormatter):
    """Keeps the lines of descriptions and epilogues where they fit; the description has the commands."""

    def add_argument(self, action: argparse.Action) -> None:
        if not isinstance(action, argparse._SubParsersAction):
            super().add_argument(action)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(line for one in text.splitlines() for line in fitted(indent + one, width))


def fitted(line: str, width: int) -> list[str]:
    """``line`` in lines of at most ``width`` columns, where a word is not longer than that."""
    if len(line) <= width:
        return [line]
    parts = _PARTS.match(line)
    if parts is not None and len(parts["before"]) > width * _MOST_BEFORE:
        column = len(line) - len(line.lstrip()) + _FURTHER
        return [*fitted(parts["before"].rstrip(), width), *_wrapped(parts["said"], width, " " * column, column)]
    if parts is not None:
        first, rest, column = parts["before"], parts["said"], len(parts["before"])
    else:
        start = len(line) - len(line.lstrip())
        first, rest, column = line[:start], line[start:], start + _FURTHER if start else 0
    return _wrapped(rest, width, first, column)


def _wrapped(text: str, width: int, first: str, column: int) -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=" " * column, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


class Parser(argparse.ArgumentParser):
    """An ArgumentParser with this layout.  It is silent where its help cannot be written."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **{"formatter_class": HelpLayout, **options})

    def _print_message(self, message: str, file: Any = None) -> None:
        if message:
            with writing_output():
                (file or sys.stderr).write(message)
