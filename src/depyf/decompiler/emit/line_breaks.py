"""Breaks a statement that is too long for one line.

Input: the text of a statement in which the printer left marks (control characters, which no literal contains) at the
places where Python allows a line break.  Output: the same tokens over several lines, in the manner of black: the last
bracket that helps is opened first, its content goes on one indented line or, if that is too long, on one line per
item with a trailing comma; operators start a line.

    x = call(first, second)   ->   x = call(
                                       first,
                                       second,
                                   )
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeAlias

from depyf.safety.depth import any_depth

OPEN = "\x01"  # after an opening bracket
CLOSE_COMMA = "\x02"  # before a closing bracket that a comma may precede
CLOSE = "\x03"  # before a closing bracket that no comma may precede
ITEM = "\x04"  # after a comma
OPERATOR = "\x05"  # before an operator or keyword inside an expression; reads as a space
MAYBE_OPEN = "\x06"  # an opening parenthesis that is only written when the line is broken
MAYBE_CLOSE = "\x07"
CHAIN_OPEN = "\x0e"  # around operands and operators of one precedence
CHAIN_CLOSE = "\x0f"
EITHER_OPEN = "\x10"  # a literal, in one piece ..
EITHER_ELSE = "\x11"  # .. or, where that is too long, in several pieces with OPERATOR between them
EITHER_CLOSE = "\x12"
BREAK = "\x13"  # in a bracket that is broken however short it is
HIDDEN = "\x14"  # begins the stand-in of a name

_MARKS = re.compile("([\x01-\x07\x0e-\x13])")
_ENDLESS = 1_000_000
_DEEPEST = 50
"""The depth of nested brackets up to which lines are indented: deeper ones would make the text grow quadratically."""
_PRIVATE = 0xE000
"""Characters of Unicode's private use area, which no literal contains unescaped."""
_FLAT = {ITEM: " ", OPERATOR: " "}
_OPENERS = frozenset({OPEN, MAYBE_OPEN, CHAIN_OPEN, EITHER_OPEN})
_CLOSERS = frozenset({CLOSE, CLOSE_COMMA, MAYBE_CLOSE, CHAIN_CLOSE, EITHER_CLOSE})


class _Group:
    """Content of one pair of brackets or one operator chain; ``width`` is its length on a single line."""

    __slots__ = ("close", "forced", "items", "open", "pieces", "width")

    def __init__(self, open_mark: str) -> None:
        self.open = open_mark
        self.close = ""
        self.items: list[_Item] = []
        self.pieces: list[_Item] = []
        self.width = 0
        self.forced = 0


_Item: TypeAlias = str | _Group


def arrange(marked: str, column: int, width: int, indent: int, shown: Iterable[tuple[str, str]] = ()) -> str:
    """``marked`` over as many lines as it needs; ``column`` is the indentation of the statement.

    ``shown``: names, and those in whose place they will be read; until then each is as long as the other.
    """
    hidden = {
        HIDDEN + chr(_PRIVATE + number) * max(len(other) - 1, 1): name for number, (name, other) in enumerate(shown)
    }
    for short, name in hidden.items():
        marked = marked.replace(name, short)
    writer = _Writer(column, width, indent)
    writer.sequence(_parse(marked).items, column, False, 0)
    text = "".join(writer.out)
    for short, name in hidden.items():
        text = text.replace(short, name)
    return text


def _parse(marked: str) -> _Group:
    root = _Group("")
    stack = [root]
    for piece in _MARKS.split(marked):
        top = stack[-1]
        if piece in _OPENERS:
            stack.append(_Group(piece))
        elif piece in _CLOSERS:
            top.close = piece
            if piece == EITHER_CLOSE:
                top.items, top.pieces, top.width = top.pieces, top.items, _width(top.pieces)
            stack.pop()
            stack[-1].items.append(top)
            stack[-1].width += top.width
        elif piece == EITHER_ELSE:
            top.items, top.pieces = [], top.items
        elif piece == BREAK:
            top.width += _ENDLESS
            top.forced = _ENDLESS
        elif piece:
            top.items.append(piece)
            top.width += 1 if piece in (ITEM, OPERATOR) else len(piece)
    return root


def _is_display(items: list[_Item]) -> bool:
    """Whether the content of a bracket is nothing but one more bracket."""
    return len(items) == 3 and items[0] in ("[", "{", "(") and isinstance(items[1], _Group) and items[1].width > 0


def _width(items: list[_Item]) -> int:
    return sum(item.width if isinstance(item, _Group) else len(item) for item in items)


class _Writer:
    def __init__(self, column: int, width: int, indent: int) -> None:
        self.out: list[str] = []
        self.column = column
        self.width = width
        self.indent = indent
        self.deepest = column + _DEEPEST * indent

    def write(self, text: str) -> None:
        self.out.append(text)
        self.column += len(text)

    def newline(self, column: int) -> None:
        self.out.append("\n" + " " * column)
        self.column = column

    @any_depth
    def flat(self, items: list[_Item]) -> None:
        for item in items:
            if isinstance(item, _Group):
                self.flat(item.items)
            else:
                self.write(_FLAT.get(item, item))

    @any_depth
    def sequence(self, items: list[_Item], column: int, inside: bool, after: int) -> None:
        """Items on the current line; groups among them may break.  ``after`` is what must still fit after them."""
        for index, item in enumerate(items):
            if isinstance(item, _Group):
                self.group(item, column, inside, self.trailing(items, index + 1, inside, after))
            else:
                self.write(_FLAT.get(item, item))

    def trailing(self, items: list[_Item], start: int, inside: bool, after: int) -> int:
        """Width of what follows up to the next place that could break."""
        total = 0
        for index in range(start, len(items)):
            item = items[index]
            if not isinstance(item, _Group):
                total += len(item)
            elif item.width == 0 or (item.open in (CHAIN_OPEN, EITHER_OPEN) and not inside):
                total += item.width
            elif item.open == MAYBE_OPEN:
                return total + 1
            else:
                return total
        return total + after

    @any_depth
    def group(self, group: _Group, column: int, inside: bool, after: int) -> None:
        chain = group.open == CHAIN_OPEN
        either = group.open == EITHER_OPEN
        if group.width == 0 or self.column + group.width + after <= self.width:
            self.flat(group.items)
        elif (chain or either) and not inside:
            self.sequence(group.items, column, inside, after)
        elif either:
            self.broken(group.pieces, self.column, after)
        elif chain:
            self.broken(group.items, column, after)
        else:
            self.bracket(group, column)

    @any_depth
    def bracket(self, group: _Group, column: int) -> None:
        """Open a bracket: content on separate lines, the closing bracket on the next."""
        listed = ITEM in group.items
        if not listed and _is_display(group.items):
            self.sequence(group.items, column, True, 1)  # f([ .. ]) opens both at once
            return
        maybe = group.open == MAYBE_OPEN
        if maybe:
            self.write("(")
        deeper = min(column + self.indent, max(column, self.deepest))
        self.newline(deeper)
        comma = listed and group.close in (CLOSE_COMMA, MAYBE_CLOSE)
        if deeper + group.width - group.forced <= self.width:
            self.flat(group.items)
        else:
            self.broken(group.items, deeper, 1 if comma else 0)
            if comma:
                self.write(",")
        self.newline(column)
        if maybe:
            self.write(")")

    @any_depth
    def broken(self, items: list[_Item], column: int, after: int) -> None:
        """One line per item (or per operand)."""
        start = 0
        for index, item in enumerate(items):
            if item in (ITEM, OPERATOR):
                self.sequence(items[start:index], column, True, 0)
                self.newline(column)
                start = index + 1
        self.sequence(items[start:], column, True, after)
