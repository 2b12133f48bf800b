"""Stores what a recording remembers after its block as one byte string.

A session is kept for ``depyf.debug()`` and for another ``prepare_debug`` on the same folder: thousands of records,
which the garbage collector of the program would look through again and again.  Packed they are a single object of a
tenth the size. Only code objects that live are remembered besides, weakly.  The bytes never leave the process.
"""

from __future__ import annotations

import copyreg
import io
import operator
import pickle
import types
import weakref
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any

from depyf.run import cache_keys, records, run
from depyf.run.bill import traced_calls
from depyf.run.graphs import graph_facts, node_origins, unrolled_loops
from depyf.run.program_calls import checked_calls, compile_calls

if TYPE_CHECKING:
    from depyf.sources.live.recording.capture import Capture
    from depyf.sources.live.recording.session import Session

_QUICK = 1
_CAPTURED = (
    "functions", "entries", "graphs", "graphs_of", "current",
    "timings", "phases", "traced", "instructions", "guard_costs", "cache_keys",
)  # fmt: skip
_OWN = ("record", "step_texts", "level_graphs")


@dataclass(frozen=True, slots=True)
class Packed:
    """The records of a session, and the code objects that were alive."""

    records: bytes
    alive: dict[tuple[int, str], weakref.ref[types.CodeType]]


def pack(session: Session) -> Packed:
    """Take the records out of ``session``."""
    capture, writer = session.capture, session.writer
    with capture.lock:
        shown = {record.function: record.code for record in session.record.functions} if session.record else {}
        alive = {key: live for key in capture.functions if (live := _asked_for(capture, key)) is not None}
        for key in shown.keys() & capture.functions.keys() - alive.keys():
            capture.functions[key].code = shown[key]  # with its source and bytecode, which nothing else has any more
        lives = {key: builder.live for key, builder in capture.functions.items() if builder.live is not None}
        for key in lives:
            capture.functions[key].live = None
        try:
            parts = [getattr(capture, name) for name in _CAPTURED], [getattr(session, name) for name in _OWN]
            others = writer.written, writer.texts, session.compile_calls.lines, session.checked
            packed = zlib.compress(_pickled((*parts, others, list(lives))), _QUICK)
        finally:
            for key, live in lives.items():
                capture.functions[key].live = live
        _set(capture, [{}, {}, [], {}, {}, {}, {}, {}, Counter(), {}, []])
        session.record, session.step_texts, session.level_graphs = None, {}, []
        writer.written, writer.texts = {}, {}
        session.compile_calls.lines, session.checked = {}, {}
    return Packed(packed, alive)


def _by_fields(cls: type) -> Callable[[Any], tuple[type, tuple[Any, ...]]]:
    """How a frozen record is pickled: as a call of its class.  By default a function of ``dataclasses`` looks for its
    fields each time, which takes ten times as long."""
    names = [field.name for field in fields(cls)]
    values = operator.attrgetter(*names)
    return lambda record: (cls, values(record) if len(names) > 1 else (values(record),))


_RECORDS = {
    made: _by_fields(made)
    for module in (
        records,
        run,
        checked_calls,
        compile_calls,
        graph_facts,
        node_origins,
        unrolled_loops,
        traced_calls,
        cache_keys,
    )
    for made in vars(module).values()
    if isinstance(made, type) and is_dataclass(made)
}


def _pickled(value: object) -> bytes:
    file = io.BytesIO()
    pickler = pickle.Pickler(file, pickle.HIGHEST_PROTOCOL)
    pickler.dispatch_table = {**copyreg.dispatch_table, **_RECORDS}
    pickler.dump(value)
    return file.getvalue()


def _asked_for(capture: Capture, function: tuple[int, str]) -> weakref.ref[types.CodeType] | None:
    """The reference to a code object that torch has compiled code for; after a reset there is nothing left to ask
    it."""
    live = capture.functions[function].live
    return live if live is not None and live() is not None and capture.live_entries(function) else None


def unpack(session: Session, packed: Packed) -> None:
    """Put the records back into ``session``."""
    captured, own, others, seen = pickle.loads(zlib.decompress(packed.records))  # ours: they were never outside
    with session.capture.lock:
        _set(session.capture, captured)
        for key in seen:
            session.capture.functions[key].live = packed.alive.get(key, _GONE)
        for name, value in zip(_OWN, own):
            setattr(session, name, value)
        session.writer.written, session.writer.texts, session.compile_calls.lines, session.checked = others


def _set(capture: Capture, values: list[object]) -> None:
    for name, value in zip(_CAPTURED, values):
        setattr(capture, name, value)


def _gone() -> weakref.ref[types.CodeType]:
    """A reference to a code object that is no more."""
    return weakref.ref(compile("0", "<gone>", "eval").replace(co_name="gone"))


_GONE = _gone()
