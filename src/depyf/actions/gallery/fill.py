"""A script from ``skeleton.py``: decides its conditions on holes and fills the holes.

Input: a value for each hole.  Holes are the names in capitals that the skeleton declares.  ``if HOLE:`` (also ``not
HOLE``) is replaced by the branch that is taken.  A line that is only a hole (``HOLE`` or ``**HOLE,``) becomes lines, or
none. Anywhere else the value is put in as text; an empty one takes the comma in front of it along.  The skeleton is
read, not imported: it needs torch.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

SKELETON = Path(__file__).with_name("skeleton.py")
_FALSE = "TYPE_CHECKING"
_REMOVED = "\0"
_ALONE = re.compile(r"^(?P<indent> *)(?:\*\*)?(?P<name>[A-Z_]+),?$")
_FORMATTER = re.compile(r"  # fmt: skip$")
_INDENT = 4

Value = str | bool | list[str]


def fill(values: Mapping[str, Value]) -> str:
    """The text of the script.  ``values``: lines, an expression as text, or whether a condition holds; KeyError where a
    hole has none."""
    lines, tree, holes = _skeleton()
    known = {name: values[name] for name in holes} | {_FALSE: False}
    chosen = _decided(lines, tree, known)
    word = re.compile(rf"(, )?\b({'|'.join(sorted(holes, key=len, reverse=True))})\b")

    def text(match: re.Match[str]) -> str:
        value = str(known[match[2]])
        return (match[1] or "") + value if value else ""

    result: list[str] = []
    for line in chosen:
        alone = _ALONE.match(line)
        value = known.get(alone["name"]) if alone else None
        if alone and isinstance(value, list):
            result += [alone["indent"] + item if item else "" for item in value] or [_REMOVED]
        else:
            result.append(word.sub(text, _FORMATTER.sub("", line)))
    return "\n".join(_without_removed(result)) + "\n"


@functools.cache
def _skeleton() -> tuple[list[str], ast.Module, frozenset[str]]:
    """Its lines, from the docstring on; its tree; the holes it declares."""
    text = SKELETON.read_text(encoding="utf-8")
    text = text[text.index('"""') :]
    tree = ast.parse(text)
    declared = next(node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == _FALSE)
    names = [
        node.target.id
        for node in declared.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    ]
    return text.splitlines(), tree, frozenset(name for name in names if name.isupper())


def _decided(lines: list[str], tree: ast.Module, known: Mapping[str, Value]) -> Iterator[str]:
    """The lines of the branches that are taken, indented as what is around them; ``_REMOVED`` in place of others."""
    removed: set[int] = set()
    outwards: dict[int, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and [alias.name for alias in node.names] == [_FALSE]:
            removed.add(node.lineno)
        holds = _holds(node.test, known) if isinstance(node, ast.If) else None
        if not isinstance(node, ast.If) or holds is None:
            continue
        first, last = node.lineno + 1, node.body[-1].end_lineno or 0
        if not holds:
            first, last = last + 2, node.end_lineno or 0  # ``else:`` is the line between the two
        kept = range(first, last + 1)
        removed |= set(range(node.lineno, (node.end_lineno or 0) + 1)) - set(kept)
        for number in kept:
            outwards[number] = outwards.get(number, 0) + _INDENT
    for number, line in enumerate(lines, 1):
        yield _REMOVED if number in removed else line[outwards.get(number, 0) :]


def _holds(test: ast.expr, known: Mapping[str, Value]) -> bool | None:
    """Whether a condition holds; None where it is none on a hole."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _holds(test.operand, known)
        return None if inner is None else not inner
    return bool(known[test.id]) if isinstance(test, ast.Name) and test.id in known else None


def _without_removed(lines: list[str]) -> Iterator[str]:
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
