"""The source text of functions, found by file and line, and what it says of their parameters.

Input: a record of a function.  Output: the same with its text; as it was, where its file cannot be read.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import overload

from depyf.run.global_names import resumed
from depyf.run.records import CodeRecord
from depyf.run.trace_events import TraceEvent
from depyf.safety.unheard import parse, spelled_lines, spelled_out


class ProgramSources:
    """Reads the source text of functions.  Each file is parsed once."""

    def __init__(self) -> None:
        self._expressions: dict[str, _FileExpressions | None] = {}
        self._blocks: dict[tuple[str, int], tuple[list[str], str]] = {}
        """The file and first line of a function -> the lines of the file then, and its text."""

    def with_source(self, record: CodeRecord) -> CodeRecord:
        """``record`` with the text at its file and line, where that file can be read.  The rest of a function has none:
        what begins in its line is a statement."""
        if resumed(record.name) is not None:
            return record
        try:
            lines = linecache.getlines(record.filename)
            if record.name in _EXPRESSIONS and (text := self._expression(record, lines)):
                return replace(record, source=text)
            return replace(record, source=self._block(record.filename, record.line, lines))
        except (OSError, SyntaxError, IndexError, ValueError, RecursionError):
            return record

    def _block(self, filename: str, line: int, lines: list[str]) -> str:
        """The lines of the function that begins there, without their indent."""
        known = self._blocks.get((filename, line))
        if known is None or known[0] is not lines:
            own = _LinesFrom(lines, max(line - 1, 0))
            block = inspect.getblock(own) if own else []
            known = self._blocks[filename, line] = lines, textwrap.dedent("".join(block)).rstrip("\n")
        return known[1]

    def _expression(self, record: CodeRecord, lines: list[str]) -> str:
        """The expression of its kind that begins in the line of ``record``; the whole lines, where there are
        several."""
        if record.filename not in self._expressions:
            self._expressions[record.filename] = None
            self._expressions[record.filename] = _FileExpressions("".join(lines))
        known = self._expressions[record.filename]
        if known is None:
            raise ValueError(record.filename)
        return known.at(_EXPRESSIONS[record.name], record.line)


class _LinesFrom(Sequence[str]):
    """The lines of a file from one of them on; read one after the other they are such that no tokenizer warns of
    them."""

    def __init__(self, lines: Sequence[str], start: int) -> None:
        self._lines, self._start = lines, start

    def __len__(self) -> int:
        return max(len(self._lines) - self._start, 0)

    def __iter__(self) -> Iterator[str]:
        return spelled_lines(self._lines[number] for number in range(self._start, len(self._lines)))

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, int):
            return self._lines[self._start + index]
        return self._lines[self._start : self._start + (index.stop or 0)]


_EXPRESSIONS: dict[str, type[ast.expr]] = {
    "<lambda>": ast.Lambda,
    "<listcomp>": ast.ListComp,
    "<setcomp>": ast.SetComp,
    "<dictcomp>": ast.DictComp,
    "<genexpr>": ast.GeneratorExp,
}
_LINE = re.compile(r"[^\r\n]*(?:\r\n|[\r\n]|\Z)")
"""As the parser counts lines."""


class _FileExpressions:
    """The expressions of a file that are code objects of their own, by kind and line.  Raises what ``ast.parse``
    raises."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._spelled = spelled_out(text)  # where that is another text, columns are those of it
        self._spelled_lines = _LINE.findall(self._spelled)
        self._lines = text.splitlines()
        kinds = tuple(_EXPRESSIONS.values())
        self._nodes: dict[tuple[type[ast.AST], int], list[ast.expr]] = {}
        for node in ast.walk(parse(self._spelled)):
            if isinstance(node, kinds):
                self._nodes.setdefault((type(node), node.lineno), []).append(node)

    def at(self, kind: type[ast.expr], line: int) -> str:
        """The only one there; the whole lines, where there are several."""
        found = self._nodes.get((kind, line), [])
        segments = {self._segment(node) for node in found}
        if len(segments) == 1:
            segment = segments.pop()
            if self._spelled is self._text or segment in self._text:
                return segment
        lines = self._lines[line - 1 : max((node.end_lineno or line for node in found), default=0)]
        return textwrap.dedent("\n".join(lines))

    def _segment(self, node: ast.expr) -> str:
        """``ast.get_source_segment``, which takes the whole text apart each time."""
        lines = self._spelled_lines[node.lineno - 1 : node.end_lineno]
        lines[-1] = lines[-1].encode()[: node.end_col_offset].decode()
        lines[0] = lines[0].encode()[node.col_offset :].decode()
        return "".join(lines)


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


def record_of_start(event: TraceEvent) -> CodeRecord:
    """What ``dynamo_start`` says of a function whose bytecode never reached the hook (a skipped frame)."""
    stack = event.data.get("stack")
    frame = stack[-1] if isinstance(stack, list) and stack else {}
    filename = frame.get("filename", "")
    line = frame.get("line", 0)
    name = str(frame.get("name", "unknown"))
    return CodeRecord(name, name, str(filename), line if isinstance(line, int) else 0, (), (), (), None, None, ())
