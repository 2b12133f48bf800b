"""What a process answered to ``depyf attach``, as records.

Input: the answer of ``inside_process.py``, plain data that another process wrote.  Output: a ``ProcessAnswer``;
DepyfError where it is none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from depyf.errors import DepyfError
from depyf.run.store.codec import NotThat, made
from depyf.safety.escape import printable

Frame = tuple[str, int, str]
"""File, line, function."""


@dataclass(frozen=True, slots=True)
class AnsweredEntry:
    """An entry of torch's cache."""

    id: str
    guards: str
    """As torch prints them."""


@dataclass(frozen=True, slots=True)
class AnsweredFunction:
    """A function with entries."""

    name: str
    file: str
    line: int
    entries: tuple[AnsweredEntry, ...]


@dataclass(frozen=True, slots=True)
class CompilingThread:
    """What one thread is compiling."""

    id: str
    thread: str
    stack: tuple[Frame, ...]
    """All frames, the outermost first."""
    inner: int
    """How many of them torch's compiler called."""
    traced: tuple[Frame, ...]
    """The lines of the program that Dynamo is at."""
    name: str = ""
    file: str = ""
    line: int = 0
    since: float = 0.0
    """In seconds of ``ProcessAnswer.now``; 0 where it is not known."""
    outside: bool = False
    """torch converts no frame: it compiles a backward."""


@dataclass(frozen=True, slots=True)
class DoneCompilation:
    """A compilation that torch remembers."""

    id: str
    co_name: str = ""
    co_filename: str = ""
    co_firstlineno: int | float | str = ""
    seconds: float | int | str = field(default="", metadata={"as": "entire_frame_compile_time_s"})
    """"" where torch does not say."""
    fail_type: str = ""
    fail_reason: str = ""


@dataclass(frozen=True, slots=True)
class ProcessAnswer:
    """What a process answers about its compilations."""

    pid: int
    python: str
    torch: str = ""
    """"" where it is not loaded."""
    now: float = 0.0
    functions: tuple[AnsweredFunction, ...] = ()
    compiling: tuple[CompilingThread, ...] = ()
    done: tuple[DoneCompilation, ...] = ()


def read_answer(found: Mapping[str, Any]) -> ProcessAnswer:
    """The record of an answer that ``ask`` returned.  DepyfError where it has another form."""
    try:
        return made(ProcessAnswer, json.loads(json.dumps(dict(found))), "the answer")  # a frame is a list in JSON
    except (NotThat, TypeError) as error:
        raise DepyfError(f"the answer of the process cannot be read: {printable(str(error))}") from error
