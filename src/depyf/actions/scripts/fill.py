"""The template engine: a text from a file of ``skeletons/``, whose conditions on holes are decided and whose holes are
filled.

Input: a value for each hole.  Holes are the names in capitals that the skeleton declares.  ``if HOLE:`` (also ``not
HOLE``) is replaced by the branch that is taken.  A line that is only a hole (``HOLE`` or ``**HOLE,``) becomes lines, or
none. Anywhere else the value is put in as text; an empty one takes the comma in front of it along.  The skeleton is
read, not imported: it needs torch.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from depyf.safety.unheard import parse

SKELETONS = Path(__file__).with_name("skeletons")
_FALSE = "TYPE_CHECKING"
_REMOVED = "\0"
_ALONE = re.compile(r"^(?P<indent> *)(?:\*\*)?(?P<name>[A-Z_]+),?$")
_FORMATTER = re.compile(r"  # (?:fmt: skip|type: ignore)$")
_INDENT = 4

Value = str | bool | Sequence[str]


def fill(name: str, values: Mapping[str, Value]) -> str:
    """The text of ``skeletons/NAME.py``.  ``values``: lines, an expression as text, or whether a condition holds;
    KeyError where a hole that is used has none."""
    lines, tree, holes = _skeleton(name)
    chosen = [_REMOVED if line is None else line for line in _Decided(lines, tree, holes, values).lines]
    word = re.compile(rf"(, )?\b({'|'.join(sorted(holes, key=len, reverse=True))})\b")

    def text(match: re.Match[str]) -> str:
        value = str(values[match[2]])
        return (match[1] or "") + value if value else ""

    result: list[str] = []
    for line in chosen:
        alone = _ALONE.match(line)
        value = values.get(alone["name"], "") if alone else ""
        if alone and not isinstance(value, (str, bool)):
            result += [alone["indent"] + item if item else "" for item in value] or [_REMOVED]
        else:
            result.append(word.sub(text, _FORMATTER.sub("", line)))
    return "\n".join(_without_removed(result)) + "\n"


@functools.cache
def _skeleton(name: str) -> tuple[list[str], ast.Module, frozenset[str]]:
    """The lines of a skeleton from its docstring on, its tree, and the holes that it declares."""
    text = (SKELETONS / f"{name}.py").read_text(encoding="utf-8")
    text = text[text.index('"""') :]
    tree = parse(text)
    declared = next(node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == _FALSE)
    targets = [
        target
        for node in declared.body
        for target in (node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)])
    ]
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    return text.splitlines(), tree, frozenset(name for name in names if name.isupper())


class _Decided:
    """The lines of the branches that are taken, indented as what is around them; None in place of others."""

    def __init__(
        self, lines: Sequence[str], tree: ast.Module, holes: frozenset[str], values: Mapping[str, Value]
    ) -> None:
        self.lines: list[str | None] = list(lines)
        self.holes, self.values = holes, values
        for node in tree.body:
            self.visit(node)

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.ImportFrom) and [alias.name for alias in node.names] == [_FALSE]:
            self.lines[node.lineno - 1] = None
        holds = self.holds(node.test) if isinstance(node, ast.If) else None
        if not isinstance(node, ast.If) or holds is None:
            inner = list(ast.iter_child_nodes(node))
        else:
            inner = list(node.body if holds else node.orelse)
            last, end = node.body[-1].end_lineno or 0, node.end_lineno or 0
            kept = range(node.lineno + 1, last + 1) if holds else range(last + 2, end + 1)  # past ``else:``
            for number in range(node.lineno, end + 1):
                line = self.lines[number - 1]
                self.lines[number - 1] = line[_INDENT:] if number in kept and line is not None else None
        for part in inner:
            self.visit(part)

    def holds(self, test: ast.expr) -> bool | None:
        """Whether a condition holds; None where it is none on a hole."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self.holds(test.operand)
            return None if inner is None else not inner
        if not isinstance(test, ast.Name) or test.id not in {_FALSE, *self.holes}:
            return None
        return test.id != _FALSE and bool(self.values[test.id])


def _without_removed(lines: Sequence[str]) -> Iterator[str]:
    """The blank lines around removed ones become one group: the larger of those above and below."""
    blank, most, gap = 0, 0, False
    for line in lines:
        if line == _REMOVED:
            blank, gap = 0, True
        elif not line:
            blank += 1
            most = max(most, blank) if gap else blank
        else:
            yield from [""] * most
            yield line
            blank, most, gap = 0, 0, False
