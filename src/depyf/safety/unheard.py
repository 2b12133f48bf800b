"""Parses and compiles untrusted source without a warning that the user's program could see.

The compiler warns through the filters of the process, which are not ours to change.  So the text itself is changed
where it would warn while it is parsed (``spelled_out``), and what would make the compiler itself warn is known from the
tree (``warns``): such text is compiled in a separate process.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, overload

_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_KNOWN = frozenset("\r\n'\"\\abfnrtvx0123")
"""What may follow a backslash anywhere, in pairs from the left."""
_WORD_AFTER_NUMBER = re.compile(r"[0-9]\.?(?:[jJ]|(?<=0)[xX][\da-fA-F_]*)?(?:and|else|for|if|in|is|not|or)")
"""The tokenizer warns before it knows whether the word goes on: of ``0inside`` too, which is no Python."""
_PREFIXES = frozenset({"", "r", "u", "b", "f", "t", "br", "rb", "fr", "rf", "tr", "rt"})
_CODE = re.compile(r"#[^\n]*|\"\"\"|'''|\"|'|[()\[\]{}:]|(?<![\w.])[\d.][\w.]*")
_NUMBER = re.compile(
    r"((?:0[xX][\da-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?[\d_]+)?[jJ]?))"
    r"((?:and|else|for|if|in|is|not|or).*)",
    re.DOTALL,
)
_WORD_BEFORE = re.compile(r"[A-Za-z_0-9]*\Z")
_OCTAL = re.compile(r"[4-7][0-7]{2}")
_ESCAPES = frozenset("\r\n'\"\\abfnrtvx01234567")


@overload
def parse(text: str, mode: Literal["exec"] = "exec", filename: str = "<text>") -> ast.Module: ...
@overload
def parse(text: str, mode: Literal["eval"], filename: str = "<text>") -> ast.Expression: ...
def parse(text: str, mode: str = "exec", filename: str = "<text>") -> Any:
    """``ast.parse`` without warnings; columns after an escape that Python does not know are one too large.

    Raises what ``ast.parse`` raises.
    """
    return ast.parse(spelled_out(text), filename, mode)


def spelled_out(text: str) -> str:
    """``text`` with the same tree, line by line, of which the parser does not warn.

    A backslash that begins no escape is doubled, and a number stands apart from the keyword after it.
    """
    return _Speller().more(text) if _is_suspect(text) else text


def spelled_lines(lines: Iterable[str]) -> Iterator[str]:
    """As ``spelled_out``, line by line: each line is read when the next result is asked for."""
    before: list[str] = []
    speller: _Speller | None = None
    for line in lines:
        if speller is None and _is_suspect(line):
            speller = _Speller()
            speller.more("".join(before))
        if speller is None:
            before.append(line)
        yield line if speller is None else speller.more(line)


def _is_suspect(text: str) -> bool:
    """Whether the parser may warn of it, wherever it stands: a text is where one of its lines is."""
    escapes = "\\" in text and not _KNOWN.issuperset(_ESCAPED.findall(text))
    return escapes or _WORD_AFTER_NUMBER.search(text) is not None


class _Speller:
    """One pass over a text, which may come in whole lines.  ``inside`` holds what is open: strings, and the code
    between braces of those with fields."""

    def __init__(self) -> None:
        self.text = ""
        self.at = 0
        self.out: list[str] = []
        self.inside: list[_String | _Field] = []

    def more(self, text: str) -> str:
        """What follows what was given before, spelled out."""
        self.text, self.at, self.out = text, 0, []
        while self.at < len(self.text):
            top = self.inside[-1] if self.inside else None
            if isinstance(top, _String):
                self._string(top)
            else:
                self._code(top)
        return "".join(self.out)

    def _take(self, end: int) -> None:
        self.out.append(self.text[self.at : end])
        self.at = end

    def _code(self, field: _Field | None) -> None:
        found = _CODE.search(self.text, self.at)
        if found is None:
            self._take(len(self.text))
            return
        self._take(found.start())
        token = found.group()
        if token[0].isdigit() or token[0] == ".":
            number = _NUMBER.fullmatch(token)
            self.out.append(f"{number[1]} {number[2]}" if number else token)
            self.at = found.end()
            return
        if token[0] in "'\"":
            word = _WORD_BEFORE.search(self.text, max(0, self.at - 12), self.at)
            prefix = word.group().lower() if word else ""
            self.inside.append(_String(token, prefix if prefix in _PREFIXES else ""))
        elif field is not None:
            if token in "([{":
                field.depth += 1
            elif token in ")]}" and field.depth:
                field.depth -= 1
            elif token == "}":
                self.inside.pop()
            elif token == ":" and not field.depth:
                field.depth = 0
                self.inside.append(_String("", field.prefix))
        self._take(found.end())

    def _string(self, string: _String) -> None:
        found = string.next.search(self.text, self.at)
        if found is None:
            self._take(len(self.text))
            return
        self._take(found.start())
        token = found.group()
        if token == string.quote:
            self.inside.pop()
        elif token == "\\":
            self._escape(string)
            return
        elif token == "{":
            self.inside.append(_Field(string.prefix))
        elif token == "}":  # the end of a format
            self.inside[-2:] = []
        self._take(found.end())

    def _escape(self, string: _String) -> None:
        after = self.text[self.at + 1 : self.at + 2]
        if "r" in string.prefix:
            self._take(self.at + (1 if after in ("{", "}") else 2))
            return
        octal = _OCTAL.match(self.text, self.at + 1)
        if octal:
            value = int(octal.group(), 8)
            self.out.append(f"\\x{value & 0xFF:02x}" if "b" in string.prefix else f"\\u{value:04x}")
            self.at += 4
        elif after in _ESCAPES or after in ("N", "u", "U") and "b" not in string.prefix:
            end = self.text.find("}", self.at) + 1 if self.text.startswith("\\N{", self.at) else 0
            self._take(end or self.at + 2)
        else:
            self.out.append("\\\\")
            self.at += 1


class _String:
    """A string that is open, or the format of a field: that has no quote, and ends where the field does."""

    __slots__ = ("next", "prefix", "quote")

    def __init__(self, quote: str, prefix: str) -> None:
        self.quote, self.prefix = quote, prefix
        fields = "f" in prefix or "t" in prefix
        braces = "" if not fields else r"|\{\{|\}\}|\{" if quote else r"|[{}]"
        self.next = re.compile(r"\\" + (f"|{quote}" if quote else "") + braces)


class _Field:
    """The code of a field; ``depth`` counts the brackets in it."""

    __slots__ = ("depth", "prefix")

    def __init__(self, prefix: str) -> None:
        self.prefix, self.depth = prefix, 0


_UNCALLED = (
    ast.Constant, ast.Tuple, ast.List, ast.ListComp, ast.Dict, ast.DictComp, ast.Set, ast.SetComp, ast.GeneratorExp,
    ast.JoinedStr, ast.FormattedValue, ast.Lambda,
)  # fmt: skip
_LEAVES = (ast.Return, ast.Break, ast.Continue)


def warns(tree: ast.AST) -> bool:
    """Whether a compiler of any version may warn of ``tree``.  It may be True for a tree of which none warns."""
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        read = _READ.get(type(node))
        if read is None:
            continue
        judge, fields = read
        if judge is not None and judge(node):
            return True
        for field in fields:
            value = getattr(node, field, None)
            if type(value) is list:
                pending += value
            elif value is not None:
                pending.append(value)
    return False


_PLAIN_FIELDS = frozenset({"arg", "asname", "attr", "conversion", "ctx", "id", "is_async", "kind", "level", "module",
                           "name", "names", "op", "ops", "simple", "type_comment", "type_ignores"})  # fmt: skip
_INSIDE = {
    kind: () if kind is ast.Constant else tuple(field for field in kind._fields if field not in _PLAIN_FIELDS)
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
}
"""The fields of each kind of node in which there may be something to warn of: no names, operators and constants."""


def _compares_identity(node: ast.Compare) -> bool:
    if not any(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops):
        return False
    return any(map(_is_literal, (node.left, *node.comparators)))


def _inverts(node: ast.UnaryOp) -> bool:
    return isinstance(node.op, ast.Invert) and not isinstance(node.operand, (ast.Name, ast.Attribute))


def _formats(node: ast.BinOp) -> bool:
    """Whether the compiler itself does the formatting."""
    constants = isinstance(node.left, ast.Constant) and isinstance(node.right, ast.Constant)
    return constants and isinstance(node.left.value, (str, bytes))  # type: ignore[attr-defined]


def _leaves_finally(node: ast.Try) -> bool:
    return any(isinstance(inner, _LEAVES) for part in node.finalbody for inner in ast.walk(part))


_JUDGES: dict[type[ast.AST], Callable[[Any], bool]] = {
    ast.Compare: _compares_identity,
    ast.Call: lambda node: _is_display(node.func),
    ast.Subscript: lambda node: _is_display(node.value) and not _has_items(node.value, node.slice),
    ast.Assert: lambda node: isinstance(node.test, (ast.Tuple, ast.Constant)),
    ast.UnaryOp: _inverts,
    ast.BinOp: _formats,
    **{kind: _leaves_finally for kind in map(vars(ast).get, ("Try", "TryStar")) if kind is not None},
}
_READ = {kind: (_JUDGES.get(kind), fields) for kind, fields in _INSIDE.items() if fields or kind in _JUDGES}
"""Who judges a node, and the fields to go on with: names and constants, half of a tree, have neither."""


def _is_display(node: ast.AST) -> bool:
    return isinstance(node, _UNCALLED) or type(node).__name__ in ("TemplateStr", "Interpolation")


def _has_items(value: ast.AST, index: ast.AST) -> bool:
    """Whether ``value[index]`` may be meant: a sequence, and an index that is a number or only known when it runs."""
    text = isinstance(value, ast.Constant) and isinstance(value.value, (str, bytes))
    if not text and not isinstance(value, (ast.Tuple, ast.List, ast.ListComp, ast.Dict, ast.DictComp)):
        return False
    if isinstance(value, (ast.Dict, ast.DictComp)) or not _is_display(index):
        return True
    return isinstance(index, ast.Constant) and type(index.value) is int


def _is_literal(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return node.value not in (None, True, False, ...) or type(node.value) in (int, float, complex)
    return _is_display(node) or isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)
