"""What the command writes to standard output and standard error.

Input: text, names and messages of files that we do not trust among it.  Output invariant: a message is one line that
moves no cursor; Python text stays Python with the same meaning, whatever letters the terminal can show.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from types import MappingProxyType

from depyf.cli.waiting import no_longer
from depyf.safety import unheard
from depyf.safety.escape import printable

NOT_SHOWN = (
    "the text has names that this terminal's encoding, {}, cannot show: it is written in UTF-8 (PYTHONIOENCODING=utf-8)"
)


names_of_folders: ContextVar[Mapping[str, str]] = ContextVar("names_of_folders", default=MappingProxyType({}))
"""Folders that were made for this command, and what the user calls what is in them."""


class OutputError(OSError):
    """Standard output cannot be written."""


@contextlib.contextmanager
def writing_output() -> Iterator[None]:
    """What fails in this block is standard output: OutputError, unless its reader went away."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(error.errno, error.strerror) from error


def complain(message: object) -> None:
    """Print ``depyf: message`` to standard error."""
    no_longer()
    text = str(message)
    for folder, name in names_of_folders.get().items():
        text = text.replace(folder, name)
    if sys.stderr is not None:
        print("depyf: " + printable(text), file=sys.stderr)


def tell(*lines: str, error: bool = False) -> None:
    """Print lines for people; characters that the terminal lacks are escaped."""
    no_longer()
    stream = sys.stderr if error else sys.stdout
    encoding = getattr(stream, "encoding", None) or "utf-8"
    with writing_output():
        for line in lines or ("",):
            shown = "\t".join(map(printable, line.split("\t")))
            print(shown.encode(encoding, "backslashreplace").decode(encoding), file=stream)


def tell_json(document: object, indent: int = 1) -> None:
    """Print a JSON document to standard output."""
    no_longer()
    text = json.dumps(document, indent=indent)
    with writing_output():
        print(text)


def write_source(text: str) -> None:
    """Print Python text to standard output.  Characters that its encoding lacks are escaped in literals; where a name
    has one, the text is written in UTF-8."""
    no_longer()
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        escaped = text.encode(encoding, "backslashreplace").decode(encoding)
        if not _same_program(text, escaped):
            complain(NOT_SHOWN.format(encoding))
            with writing_output():
                sys.stdout.flush()
                sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
            return
        text = escaped
    with writing_output():
        sys.stdout.write(text)


def _same_program(one: str, other: str) -> bool:
    try:
        return bool(ast.dump(unheard.parse(one)) == ast.dump(unheard.parse(other)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False  # it is of a newer Python, or nests too deeply: nothing is known


@contextlib.contextmanager
def standard_streams() -> Iterator[None]:
    """While the block lasts, output to a stream that the shell has closed is discarded."""
    before = sys.stdout, sys.stderr
    with contextlib.ExitStack() as stack:
        for name in ("stdout", "stderr"):
            if getattr(sys, name) is None:
                setattr(sys, name, stack.enter_context(open(os.devnull, "w", encoding="utf-8")))
        try:
            yield
        finally:
            sys.stdout, sys.stderr = before


def give_up_output() -> None:
    """Discard all remaining output, so that the process ends without an error message."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
