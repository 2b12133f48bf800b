"""What a guard that did not hold reads, in the program's words.

Input: the text of a guard as recompilations record it.  Output: a ``Subject``; guards on the same value have the same one,
whatever they expected of it.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from depyf.run.advice.for_guards import equal_sizes
from depyf.run.advice.source_names import by_attribute, named

_MISMATCH = re.compile(r"^tensor '(?P<name>.*?)' (?P<what>[\w ()]+?) mismatch(?: at index (?P<index>\d+))?\.")
_SIZE = re.compile(r"^(?P<name>.+?)\.(?P<what>size|stride)\(\)\[(?P<index>\d+)\]$")
_MODULES = re.compile(r"((?:\._modules\['[^']+'\])+)")
_NUMBER = re.compile(r"\b\d+(?:\.\d+)?(?:e[+-]?\d+)?\b")
EQUALITY = "equality"
"""What a guard that two sizes are equal reads of them."""
_STACK = re.compile(r"\b___stack\d+\b")


@dataclass(frozen=True, slots=True)
class Subject:
    """The value, or the property of one, on which a guard is."""

    name: str
    """What has it: ``x``, ``self.calls``, ``the global MODE``."""
    what: str = ""
    """Which property of it: ``size``, ``dtype``, ``type``; "" for the value itself."""
    index: str = ""
    module: str = ""
    """The path of the module that has it."""

    @property
    def key(self) -> str:
        """What subjects share that are read by one line: of the path to a value only its end counts, so that the counters of
        all layers of a model are one."""
        last = self.name.rpartition(".")[2] if re.fullmatch(r"[\w.]+", self.name) else self.name
        return " ".join(part for part in (last, self.what, self.index) if part)

    def __str__(self) -> str:
        name = in_code(self.name)
        if self.what in ("size", "stride") and self.index:
            return f"{self.what} {self.index} of {name}"
        return f"the {self.what} of {name}" if self.what else name


GLOBAL = "the global "


def in_code(name: str) -> str:
    """An expression in backquotes, as it stands in a sentence; words that are none as they are."""
    words, expression = (GLOBAL, name[len(GLOBAL) :]) if name.startswith(GLOBAL) else ("", name)
    try:
        ast.parse(expression, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return name
    return name if "`" in expression else f"{words}`{expression}`"


def subject_of(guard: str) -> Subject:
    """What ``guard`` reads."""
    mismatch = _MISMATCH.match(guard)
    if mismatch is not None:
        return Subject(named(mismatch["name"]), mismatch["what"], mismatch["index"] or "", module_of(mismatch["name"]))
    if sizes := equal_sizes(guard, in_code):
        return Subject(sizes, EQUALITY)
    source, what = _read(guard)
    size = _SIZE.match(source)
    if size is not None:
        return Subject(named(size["name"]), size["what"], size["index"], module_of(size["name"]))
    return Subject(named(source), what, "", module_of(source))


def module_of(source: str) -> str:
    """``L['self']._modules['h']._modules['0'].calls`` -> ``h.0``; "" where no module is on the way."""
    found = _MODULES.search(by_attribute(source))
    return ".".join(re.findall(r"'([^']+)'", found[1])) if found is not None else ""


def stack_variables(text: str) -> list[str]:
    """Dynamo's names of values that went over a graph break, as they occur in ``text``."""
    return _STACK.findall(text)


def _read(guard: str) -> tuple[str, str]:
    """The expression that the guard is about, and which property of it."""
    try:
        tree = ast.parse(guard.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _NUMBER.sub("N", guard), ""
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not):
        return f"len({ast.unparse(tree.operand)})", ""
    if isinstance(tree, ast.Compare):
        sides = [tree.left, *tree.comparators]
        read = [side for side in sides if not _is_literal(side)]
        return " and ".join(dict.fromkeys(map(ast.unparse, read))) or guard, ""
    if isinstance(tree, ast.Call) and tree.args:
        called = ast.unparse(tree.func)
        what = _PROPERTIES.get(called)
        if what is not None:
            return ast.unparse(tree.args[0]), what
    return _NUMBER.sub("N", guard), ""


IDENTITY = "identity"
_PROPERTIES = {"type_is": "type", "same_object": IDENTITY, "same_items": "items"}
"""A function of depyf's guards -> the property of its first argument that it looks at."""


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError, MemoryError):
        return False
    return True
