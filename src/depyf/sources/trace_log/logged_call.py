"""A call that no entry fitted, as far as a log tells it: by the guards and symbols of the entry that was made for it.

Input: the function's record, and the symbols of the new entry.  Output: a ``Look`` for the guards that failed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from depyf.run.advice.source_names import module_variable, named, root
from depyf.run.global_names import RESUME_PREFIX
from depyf.run.guards.difference import INNER, KEYWORDS, MODULE, POSITIONAL, RECEIVER, UNKNOWN, GuardSide
from depyf.run.guards.guard_kind import UnknownValueError, tree_of
from depyf.run.guards.guarded_path import variable_of
from depyf.run.guards.kinds.type_guard import class_wanted
from depyf.run.records import CodeRecord, GuardRecord, SymbolRecord
from depyf.safety.escape import cut
from depyf.safety.source_lines import source_text
from depyf.safety.unheard import parse

_SIMPLE = (int, float, bool, str, bytes, type(None))
_LONGEST = 80
_MOST_SOURCE = 1 << 20


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """What a log tells about a call, besides the guards of its entry."""

    code: CodeRecord
    """With its parameters, where its source is at hand."""
    begun: CodeRecord | None = None
    """Of the rest of a function: the whole of it."""
    numbers: dict[str, int] = field(default_factory=dict)
    """What became a symbol, in the program's words -> its value."""
    modules: frozenset[str] = frozenset()
    """Variables that are an ``nn.Module``."""

    def value(self, node: ast.expr) -> Any:
        found = self.numbers.get(named(ast.unparse(node)))
        if found is None:
            raise UnknownValueError
        return found

    def side(self, value: Any) -> GuardSide:
        if type(value) not in _SIMPLE:
            return UNKNOWN
        return GuardSide(cut(repr(value), _LONGEST), type(value).__name__)

    def class_name(self, value: Any) -> str:
        return f"builtins.{type(value).__name__}" if type(value) in _SIMPLE else ""

    def roles(self, source: str) -> tuple[str, ...]:
        tree = tree_of(source)
        if tree is None:
            return ()
        variable = root(source)
        found = [MODULE] if isinstance(tree, ast.Attribute) and variable in self.modules else []
        whole = self.begun or self.code
        if self.code.name.startswith(RESUME_PREFIX) and variable not in whole.locals:
            found.append(INNER)
        if named(source) == variable:
            first = next(iter((*whole.posonly, *whole.args)), "")
            found += [RECEIVER] if variable == first and _is_method(whole) else []
            found += [POSITIONAL] if variable == self.code.varargs else []
            found += [KEYWORDS] if variable == self.code.varkw else []
        return tuple(found)

    def ask(self, name: str, *arguments: Any, **named: Any) -> Any:
        raise UnknownValueError


def _is_method(code: CodeRecord) -> bool:
    owner = code.qualname.rpartition(".")[0]
    return bool(owner) and not owner.endswith("<locals>")


class ModuleClasses:
    """The classes of ``nn.Module``, as far as guards tell them (those of values whose modules or parameters are
    guarded), or the files of the program."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._files: set[str] = set()

    def variables(self, guards: Iterable[GuardRecord], filename: str) -> frozenset[str]:
        """The variables of a call with these guards that are modules; ``filename``: of the function."""
        read = tuple(guards)
        found = {name for one in read if (name := module_variable(one.expression))}
        wanted = filter(None, (class_wanted(one.expression) for one in read))
        classes = {name: kind for source, kind in wanted if (name := variable_of(source))}
        self._known.update(_last(classes[name]) for name in found if name in classes)
        if classes and filename not in self._files:
            self._files.add(filename)
            self._known.update(_modules_in(source_text(filename, _MOST_SOURCE)))
        return frozenset(found | {name for name, kind in classes.items() if _last(kind) in self._known})


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _modules_in(text: str) -> set[str]:
    """The classes that a file derives from ``nn.Module``, or from such a class."""
    found: set[str] = set()
    try:
        tree = parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return found
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            bases = {ast.unparse(base) for base in node.bases}
            if bases & {"nn.Module", "torch.nn.Module", *found}:
                found.add(node.name)
    return found


def logged_call(
    code: CodeRecord, begun: CodeRecord | None, modules: frozenset[str], symbols: Iterable[SymbolRecord]
) -> LoggedCall:
    """What is known of the call for which an entry was compiled.  ``begun``: the whole function of a resume function;
    ``modules``: the variables that are modules; ``symbols``: those of the entry."""
    numbers = {
        named(symbol.source): int(symbol.value)
        for symbol in symbols
        if symbol.source and symbol.value.removeprefix("-").isdigit() and len(symbol.value) < 20
    }
    return LoggedCall(code, begun, numbers, modules)
