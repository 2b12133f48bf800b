"""Code object -> ``CodeRecord``."""

from __future__ import annotations

import inspect
import types
import weakref

from depyf.decompiler.bytecode.host.written_names import qualified_name
from depyf.run.records import CodeRecord
from depyf.sources.live.caches.seen_code import codes_seen
from depyf.sources.live.resume import origin
from depyf.sources.reports.builders import FunctionBuilder


def code_record(code: types.CodeType) -> CodeRecord:
    """The record of ``code``: its names, parameters and place.  Its source is not read, which would take time."""
    names = code.co_varnames
    positional = names[: code.co_argcount]
    kwonly_end = code.co_argcount + code.co_kwonlyargcount
    varargs = names[kwonly_end] if code.co_flags & inspect.CO_VARARGS else None
    varkw = names[kwonly_end + (varargs is not None)] if code.co_flags & inspect.CO_VARKEYWORDS else None
    return CodeRecord(
        name=code.co_name,
        qualname=qualified_name(code, origin(code)),
        filename=code.co_filename,
        line=code.co_firstlineno,
        posonly=positional[: code.co_posonlyargcount],
        args=positional[code.co_posonlyargcount :],
        kwonly=names[code.co_argcount : kwonly_end],
        varargs=varargs,
        varkw=varkw,
        freevars=code.co_freevars,
    )


def find_code(builder: FunctionBuilder) -> None:
    """The code object of a frame that Dynamo gave up: torch reports only its name and place."""
    known = builder.code
    wanted = (known.filename, known.line, known.name)
    found = [code for code in codes_seen() if (code.co_filename, code.co_firstlineno, code.co_name) == wanted]
    if len(found) == 1:
        builder.code, builder.live = code_record(found[0]), weakref.ref(found[0])
