"""Loops of the program that a graph holds unrolled: the same operations, of the same lines, many times.

Input: the lines that ran each operation of a captured graph, and the sources of those lines.  Output: the loops, those
of most operations first; none where a graph is tiny.  A line that repeats without a loop around it (a recursion, a
loop in a file without source) is told as the line itself.
"""

from __future__ import annotations

import ast
import functools
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from depyf.run.graphs.node_origins import Frame
from depyf.run.graphs.printed_lines import printed_lines
from depyf.run.installed_files import library_file, of_library
from depyf.safety.unheard import parse

_TIMES = 8
"""How often a line is repeated before it is told of."""
FEWEST = 4 * _TIMES
"""Operations of a graph in which loops are looked for; ``LONG`` says which of them are told of."""
LONG = 100
"""Operations of a graph, or kernels that it becomes, that take long to compile."""
_MOST = 3
_LONGEST = 160

Stack = tuple[Frame, ...]
Read = Callable[[str], str]
"""The source of a file; "" where there is none."""


@dataclass(frozen=True, slots=True)
class UnrolledLoop:
    """A line of the program of which a graph has many copies."""

    file: str
    line: int
    """Of the ``for`` or ``while``, or the line that is repeated where there is none."""
    text: str
    function: str
    calls: str
    """What the repeated line calls in which the operations are: ``self.cell``; "" where they are its own."""
    times: int
    operations: int
    """That its copies have in this graph."""
    loop: bool = True
    """Whether ``line`` is a loop of the program."""


def unrolled_loops(stacks: Sequence[tuple[str, Stack]], text: str, read: Read) -> tuple[UnrolledLoop, ...]:
    """``stacks``: each operation with the lines that ran it, the outermost first; ``text``: the graph as printed."""
    if len(stacks) < FEWEST:
        return ()
    operators = {line.name: _shape(line.value.partition(";")[0]) for line in printed_lines(text)}
    alike: dict[Stack, list[int]] = {}
    for (stack, _), count in Counter((stack, operators.get(name, name)) for name, stack in stacks).items():
        if stack and count > 1 and not _of_torch(stack[-1][0]):
            alike.setdefault(stack, []).append(count)
    if max(map(max, alike.values()), default=0) < _TIMES:
        return ()
    found: dict[tuple[str, int], list[tuple[UnrolledLoop, list[int]]]] = {}
    for stack, counts in alike.items():
        one = _loop(stack, read)
        found.setdefault((one.file, one.line), []).append((one, counts))
    loops = [loop for same in found.values() if (loop := _together(same)).times >= _TIMES]
    loops = [loop for loop in loops if 2 * loop.operations >= len(stacks)]
    loops.sort(key=lambda loop: (-loop.operations, loop.file, loop.line))
    return tuple(loops[:_MOST])


_NUMBERED = re.compile(r"_\d+\b")
_VALUE = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?![\w.(])")
_NUMBER = re.compile(r"(?<![\w.])\d[\d.e-]*")


def _shape(expression: str) -> str:
    """What two operations share that are copies of one: ``torch._C._nn.linear(_, _, _)``, ``x.view(0, 0)``."""
    return _NUMBER.sub("0", _VALUE.sub("_", _NUMBERED.sub("", expression)))


def _together(same: list[tuple[UnrolledLoop, list[int]]]) -> UnrolledLoop:
    """Several lines in one loop as one; with each, how often the graph has its operations.

    Most operations are run once in an iteration: some are run more often, and some in a few iterations only.
    """
    first, _ = max(same, key=lambda one: (bool(one[0].calls), sum(one[1])))
    often = Counter(count for _, counts in same for count in counts)
    times = min(often, key=lambda count: (-often[count], count))
    operations = sum(count for _, counts in same for count in counts if count >= _TIMES)
    return replace(first, times=times, operations=operations)


def _loop(stack: Stack, read: Read) -> UnrolledLoop:
    """The outermost loop around the lines of ``stack``, not counted yet; of a loop in a library the program's line that
    led there."""
    own = [at for at, frame in enumerate(stack) if not of_library(frame[0])]
    for at, (file, line, function) in enumerate(stack):
        around = _loop_around(read(file), line)
        if not around:
            continue
        before = [place for place in own if place <= at]
        place = before[-1] if before else at
        if place == at:
            calls = _called(read(file), line) if at + 1 < len(stack) else ""
            return UnrolledLoop(file, around, _text(read(file), around), function, calls, 0, 0)
        calls = _called(read(file), line) if at + 1 < len(stack) else ""
        file, line, function = stack[place]
        return UnrolledLoop(file, line, _text(read(file), line), function, calls, 0, 0, loop=False)
    file, line, function = stack[own[-1] if own else -1]
    return UnrolledLoop(file, line, _text(read(file), line), function, "", 0, 0, loop=False)


def _of_torch(file: str) -> bool:
    """Whether the operations are of an optimizer or another loop of torch's own, which nothing is to be changed of."""
    known = library_file(file)
    return known.startswith(("torch/", "torch\\")) and not known.startswith(("torch/nn/", "torch\\nn\\"))


def _text(source: str, line: int) -> str:
    lines = source.splitlines()
    return lines[line - 1].strip()[:_LONGEST] if 0 < line <= len(lines) else ""


@functools.lru_cache(maxsize=8)
def _tree(source: str) -> ast.Module | None:
    try:
        return parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


_LOOPS = (ast.For, ast.While, ast.AsyncFor)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def _loop_around(source: str, line: int) -> int:
    """The line of the outermost loop, in the function of ``line``, that has it in its body; 0 where there is none."""
    tree = _tree(source) if source else None
    outermost = 0
    pending: list[ast.AST] = [tree] if tree is not None else []
    while pending:
        node = pending.pop()
        for child in ast.iter_child_nodes(node):
            first, last = getattr(child, "lineno", None), getattr(child, "end_lineno", None)
            if first is not None and last is not None and not first <= line <= last:
                continue
            if isinstance(child, _FUNCTIONS):
                outermost = 0
            elif not outermost and _repeats(child, line):
                outermost = child.lineno  # type: ignore[attr-defined]
            pending.append(child)
    return outermost


def _repeats(node: ast.AST, line: int) -> bool:
    """Whether the node runs what is on this line many times."""
    if isinstance(node, _LOOPS):
        first, last = node.body[0], node.body[-1]
        return first.lineno <= line <= (last.end_lineno or last.lineno)
    return isinstance(node, _COMPREHENSIONS)


def _called(source: str, line: int) -> str:
    """What the line calls: the outermost call of something that is not torch's own, and not what is looped over."""
    tree = _tree(source) if source else None
    pending: list[ast.AST] = [tree] if tree is not None else []
    while pending:
        node = pending.pop(0)
        looped = node.iter if isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)) else None
        pending += [child for child in ast.iter_child_nodes(node) if child is not looped]
        if isinstance(node, ast.Call) and node.lineno <= line <= (node.end_lineno or node.lineno):
            text = ast.unparse(node.func)
            inside = isinstance(node.func, (ast.Name, ast.Attribute)) and node.lineno == line
            if inside and not text.startswith(("torch.", "F.", "super")) and len(text) <= _LONGEST:
                return text
    return ""
