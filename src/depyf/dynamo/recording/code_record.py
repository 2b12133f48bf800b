"""Code object -> ``CodeRecord``, and the source text of a function found by file and line."""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
import types
from dataclasses import replace

from depyf.bytecode.host.written_names import qualified_name
from depyf.dump.records import CodeRecord
from depyf.dynamo.resume import origin
from depyf.safety.unheard import parse, spelled_out


def code_record(code: types.CodeType) -> CodeRecord:
    """How ``code`` is called and where it came from; without its source, which costs time."""
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


def with_source(record: CodeRecord) -> CodeRecord:
    """``record`` with the text at its file and line, where that file can be read."""
    try:
        lines = linecache.getlines(record.filename)
        if record.name in _EXPRESSIONS and (text := _expression(record, "".join(lines))):
            return replace(record, source=text)
        own = lines[max(record.line - 1, 0) :]
        block = own[: len(inspect.getblock(spelled_out("".join(own)).splitlines(True)))] if own else []
    except (OSError, SyntaxError, IndexError, ValueError, RecursionError):
        return record
    return replace(record, source=textwrap.dedent("".join(block)).rstrip("\n"))


_EXPRESSIONS: dict[str, type[ast.expr]] = {
    "<lambda>": ast.Lambda,
    "<listcomp>": ast.ListComp,
    "<setcomp>": ast.SetComp,
    "<dictcomp>": ast.DictComp,
    "<genexpr>": ast.GeneratorExp,
}


def _expression(record: CodeRecord, text: str) -> str:
    """The expression of its kind that begins in the line of ``record``; the whole lines, where there are several."""
    kind = _EXPRESSIONS[record.name]
    spelled = spelled_out(text)  # where that is another text, columns are those of it
    found = [node for node in ast.walk(ast.parse(spelled)) if isinstance(node, kind) and node.lineno == record.line]
    segments = {ast.get_source_segment(spelled, node) or "" for node in found}
    if len(segments) == 1 and (segment := segments.pop()) in text:
        return segment
    lines = text.splitlines()[record.line - 1 : max((node.end_lineno or record.line for node in found), default=0)]
    return textwrap.dedent("\n".join(lines))


def with_parameters(record: CodeRecord) -> CodeRecord:
    """``record`` with the parameters its source declares, for a function whose code object was never seen."""
    try:
        tree = parse(record.source)
    except (SyntaxError, ValueError, RecursionError):
        return record
    node = next((node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))), None)
    if node is None:
        return record
    declared = node.args
    return replace(
        record,
        posonly=tuple(argument.arg for argument in declared.posonlyargs),
        args=tuple(argument.arg for argument in declared.args),
        kwonly=tuple(argument.arg for argument in declared.kwonlyargs),
        varargs=declared.vararg.arg if declared.vararg else None,
        varkw=declared.kwarg.arg if declared.kwarg else None,
    )
