"""A call that a guard would not have let pass, written as Python: what can go wrong where the guard is left out.

Input: an entry with its function, and a guard of it.  Output: ``Way`` records: a change of the program, made of the
value that the guard wants, and the call after it.  Sizes, numbers and names that no guard tells are taken from the
caller's own variables.  Nothing is evaluated, and no way is written for what only a library changes.

    same_value(L['n'], 3)                ->   f(x, n=4)
    same_value(G['SCALE'], 3.0)          ->   SCALE = 4.0; f(x)
    L['self'].training is True           ->   self.training = False; self(x)
    check_tensor(L['x'], ..., size=[3])  ->   f(x.new_ones(4)), f(x.to(torch.float64))
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from depyf.run.global_names import BUILTINS, imported_module
from depyf.run.guards.guard_kind import called, keywords, tree_of
from depyf.run.guards.guarded_path import CODE, ITEM, Path, path_of
from depyf.run.guards.known_kinds import brief, facts_in, plain
from depyf.run.guards.program_words import in_program
from depyf.run.installed_files import of_library
from depyf.run.records import EntryRecord, FunctionRecord, GuardRecord

_FLOATS = ("torch.float32", "torch.float16", "torch.bfloat16")
_OTHER_CLASS = {"int": "2.5", "float": "2"}
_FREE = 5
"""A size that guards leave open."""
ANOTHER = "another_function"


@dataclass(frozen=True, slots=True)
class Way:
    """A change of the program's state, and the call in which a guard then fails."""

    change: str = ""
    """A statement, or the head of a ``with``; "" where the call itself is another."""
    call: str = ""
    """"" where the call is not known: of the rest of a function after a graph break."""

    @property
    def lines(self) -> tuple[str, ...]:
        """The change and the call as Python statements."""
        inner = "    " if self.change.endswith(":") else ""
        return tuple(filter(None, (self.change, self.call and inner + self.call)))

    @property
    def text(self) -> str:
        """The change and the call in one line."""
        joint = " " if self.change.endswith(":") else "; "
        return joint.join(filter(None, (self.change, self.call)))


class BrokenGuards:
    """The ways to break guards of one entry."""

    def __init__(self, function: FunctionRecord, entry: EntryRecord) -> None:
        self._function, self._entry = function, entry
        self._known: dict[str, dict[str, Any]] = {}
        for guard in (*entry.guards, *entry.left_out):
            for fact in facts_in(guard.expression):
                path = self._path(fact.node)
                if path is not None:
                    self._known.setdefault(path.text, {}).setdefault(fact.name, fact.value)

    def ways(self, guard: GuardRecord) -> tuple[Way, ...]:
        """The changes after which ``guard`` fails; () where none is known."""
        tree = tree_of(guard.expression)
        if tree is None:
            return ()
        if called(tree) == "check_global_state":
            return self._of_state(tree)
        if called(tree) == "same_object":
            return self._of_function(tree, guard)
        if isinstance(tree, ast.Compare) and (found := self._of_size(tree)):
            return found
        facts = facts_in(guard.expression)
        return tuple(way for fact in facts for way in self._of_fact(fact.name, fact.node, fact.value, guard))

    def changed(self, path: Path, value: str) -> Way:
        """The change that assigns ``value`` (Python text) to ``path``, and the call after it."""
        return self._with(path, value)

    def said(self, guard: GuardRecord) -> str:
        """The condition that ``guard`` checks, written with the program's names."""
        tree = tree_of(guard.expression)
        if tree is not None and called(tree) == "check_global_state":
            mode = keywords(tree).get("grad_mode")
            return f"torch.is_grad_enabled() is {ast.unparse(mode)}" if mode is not None else plain(guard.expression)
        if tree is not None and called(tree) == "same_object":
            path = self._path(tree_of(guard.source) or tree)
            return f"{path.text if path is not None else guard.source} has the code of when it was compiled"
        text = in_program(brief(guard.expression) or plain(guard.expression))
        for fact in facts_in(guard.expression):
            path = self._path(fact.node)
            if path is not None:
                text = text.replace(in_program(ast.unparse(fact.node)), path.text)
        return text

    def _of_fact(self, name: str, node: ast.expr, value: Any, guard: GuardRecord) -> list[Way]:
        path = self._path(node)
        if path is None or self._of_library(path, guard):
            return []
        others: list[str] = []
        if name == "value":
            others = [_other(value)]
        elif name == "tensor" and not value.get("parameter"):
            others = _other_tensors(path.text, value)
        elif name == "length" and value:
            more = f"*{path.text}, {path.text}[0]"
            others = [{"list": f"[{more}]", "tuple": f"({more})"}.get(self._known[path.text].get("kind", ""), "")]
        elif name == "kind" and "value" not in self._known[path.text]:
            others = [_OTHER_CLASS.get(value, "")]
        return [self._with(path, other) for other in others if other]

    def _of_state(self, tree: ast.expr) -> tuple[Way, ...]:
        mode = keywords(tree).get("grad_mode")
        call = self._call({})
        if mode is None or not call:
            return ()
        return (Way(f"with torch.{'no_grad' if ast.unparse(mode) == 'True' else 'enable_grad'}():", call),)

    def _of_function(self, tree: ast.expr, guard: GuardRecord) -> tuple[Way, ...]:
        """Of a function that is told by its code."""
        value = tree.args[0] if isinstance(tree, ast.Call) and tree.args else None
        if not isinstance(value, ast.Attribute) or value.attr != "__code__":
            return ()
        path = self._path(value.value)
        known = path is not None and not any(key in CODE for _, key in path.steps)
        return (self._with(path, ANOTHER),) if path is not None and known and not self._of_library(path, guard) else ()

    def _of_size(self, tree: ast.Compare) -> tuple[Way, ...]:
        """``3 <= L['x'].size()[0]``, either way round."""
        sides = [tree.left, *tree.comparators]
        if len(sides) != 2:
            return ()
        number = next((side.value for side in sides if isinstance(side, ast.Constant)), None)
        size = next((side for side in sides if isinstance(side, ast.Subscript)), None)
        if type(number) is not int or size is None or not isinstance(size.slice, ast.Constant):
            return ()
        owner = size.value
        if not isinstance(owner, ast.Call) or not isinstance(owner.func, ast.Attribute) or owner.func.attr != "size":
            return ()
        path = self._path(owner.func.value)
        told = self._known.get(path.text, {}).get("tensor") if path is not None else None
        wrong = next(n for n in (number - 1, number + 1, number) if n >= 0 and not _holds(tree, number, n))
        index = size.slice.value
        if path is None or told is None or type(index) is not int or index >= len(told["size"]):
            return ()
        sizes = [wrong if i == index else n if n is not None else _FREE for i, n in enumerate(told["size"])]
        return (self._with(path, _of_sizes(path.text, sizes)),)

    def _with(self, path: Path, value: str) -> Way:
        """The program with this value there."""
        names = (*self._parameters(), *(() if self._entry.wrapped else self._function.code.kwonly))
        if path.mapping == "L" and not path.steps and path.name in names:
            return Way(call=self._call({path.name: value}))
        return Way(f"{path.text} = {value}", self._call({}))

    def _path(self, node: ast.expr) -> Path | None:
        """As the program writes it; None for what no program writes so."""
        path = path_of(node)
        if path is None:
            return None
        if self._entry.wrapped and path.mapping == "L":
            return self._inside_wrapper(path)
        if path.mapping == "G" and (module := imported_module(path.name)):
            own = module == "__main__" or module.rpartition(".")[2] == PurePath(self._function.code.filename).stem
            if own and path.steps and path.steps[0][0] != ITEM:
                return Path("G", str(path.steps[0][1]), path.steps[1:])
            return Path("G", module, path.steps)
        return path if path.name.isidentifier() and not path.name.startswith("___") else None

    def _inside_wrapper(self, path: Path) -> Path | None:
        """In terms of the object that torch's wrapper calls."""
        first = path.steps[0] if path.steps else None
        if path.name == "args" and first is not None and first[0] == ITEM and type(first[1]) is int:
            names = self._entry.wrapped_parameters
            return Path("L", names[first[1]], path.steps[1:]) if first[1] < len(names) else None
        if path.name == "kwargs" and first is not None:
            return Path("L", str(first[1]), path.steps[1:])
        return path if path.name in ("self", "args") else Path("L", "self", path.steps) if path.name == "fn" else None

    def _of_library(self, path: Path, guard: GuardRecord) -> bool:
        """Whether only a library would change it."""
        if path.mapping != "G":
            return False
        root = path.name.partition(".")[0]
        return (
            root in ("torch", "builtins")
            or path.name.startswith(BUILTINS)
            or (guard.place is not None and of_library(guard.place.filename))
        )

    def _parameters(self) -> tuple[str, ...]:
        code = self._function.code
        if self._entry.wrapped:
            count = self._known.get("args", {}).get("length")
            return self._entry.wrapped_parameters[:count]
        names = (*code.posonly, *code.args)
        return names[1:] if self._of_object else names

    @property
    def _of_object(self) -> bool:
        """Whether it is called on an object."""
        code = self._function.code
        return bool(self._entry.wrapped) or ("." in code.qualname and (*code.posonly, *code.args)[:1] == ("self",))

    def _call(self, changed: dict[str, str]) -> str:
        """The call with other arguments in the place of those; a flag or a number that guards know stands as it is."""
        code = self._function.code
        if self._function.resume_of is not None or not code.name.isidentifier():
            return ""
        given: list[str] = []
        by_name = False
        for name in self._parameters():
            value = changed.get(name) or self._known.get(name, {}).get("value") or name
            by_name = (by_name or (value != name and name not in value)) and name not in code.posonly
            given.append(f"{name}={value}" if by_name else value)
        if not self._entry.wrapped:
            given += [f"*{code.varargs}"] if code.varargs and not by_name else []
            given += [
                f"{name}={changed.get(name) or self._known.get(name, {}).get('value') or name}" for name in code.kwonly
            ]
            given += [f"**{code.varkw}"] if code.varkw else []
        if self._entry.made.apart:  # the function itself runs as Python: the object that was compiled is called
            return f"compiled({', '.join(['self'] * self._of_object + given)})"
        owner = "" if not self._of_object else "self" if self._entry.wrapped or code.name == "forward" else "self."
        name = owner if owner == "self" else owner + code.name
        return f"{name}({', '.join(given)})"


def _holds(tree: ast.Compare, number: int, size: int) -> bool:
    """What the comparison says of a size."""
    left, right = (number, size) if isinstance(tree.left, ast.Constant) else (size, number)
    sign = tree.ops[0]
    if isinstance(sign, ast.LtE):
        return left <= right
    if isinstance(sign, ast.Lt):
        return left < right
    if isinstance(sign, ast.GtE):
        return left >= right
    if isinstance(sign, ast.Gt):
        return left > right
    return left != right if isinstance(sign, ast.NotEq) else left == right


def other_value(values: Sequence[str]) -> str:
    """A value that is none of these literals, of the class of one of them; "" where none is known."""
    return next((other for value in values if (other := _other(value)) and other not in values), "")


def _other(value: str) -> str:
    """Another value of the same class as a literal; "" where none is known."""
    try:
        known = ast.literal_eval(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return ""
    if known is None:
        return "1"
    if type(known) is bool:
        return repr(not known)
    if type(known) is int:
        return repr(known + 1)
    if type(known) is float:
        if 0.0 < known < 1.0:  # mostly a probability
            return repr(known / 2)
        return repr(known + 1.0) if known + 1.0 != known else "0.0"
    return repr(f"{known}_2") if type(known) is str else ""


def _other_tensors(name: str, told: dict[str, Any]) -> list[str]:
    """One of another size, and one of another data type."""
    sizes, dtype = told.get("size"), str(told.get("dtype", ""))
    found = []
    fixed = [i for i, size in enumerate(sizes or ()) if type(size) is int]
    if sizes and fixed:
        changed = [size + 1 if i == fixed[0] else size if size is not None else _FREE for i, size in enumerate(sizes)]
        found.append(_of_sizes(name, changed))
    if dtype.startswith("torch."):
        found.append(f"{name}.to({'torch.float64' if dtype in _FLOATS else 'torch.float32'})")
    return found


def _of_sizes(name: str, sizes: list[int]) -> str:
    return f"{name}.new_ones({', '.join(map(str, sizes))})"


RISKY = "risky, says torch: variants differ by it, or the program chooses what it is on"


@dataclass(frozen=True, slots=True)
class LeftOutGuard:
    """A guard that was left out, as the pages tell of it."""

    record: GuardRecord
    said: str
    """What it asks, in the words of the program."""
    ways: tuple[Way, ...]
    """Calls that run all the same."""
    risky: bool = False
    """torch calls that risky, in this entry or in another one of the same capture."""


@dataclass(frozen=True, slots=True)
class GuardsLeftOut:
    """All guards of one entry that a filter left out."""

    guards: tuple[LeftOutGuard, ...]
    """Those that the program can break."""
    rest: int
    """How many others there are: on state, modules and functions of libraries."""
    by: tuple[str, ...]
    """Who left them out, in words."""

    @property
    def count(self) -> int:
        return len(self.guards) + self.rest

    @property
    def who(self) -> str:
        return "; ".join(self.by)


def left_out(function: FunctionRecord, entry: EntryRecord) -> GuardsLeftOut:
    """The guards that a filter left out of ``entry``; guards with the same condition are listed once."""
    if not entry.left_out:
        return GuardsLeftOut((), 0, ())
    broken = BrokenGuards(function, entry)
    told: dict[tuple[Way, ...], LeftOutGuard] = {}
    risky = {_slot(record) for one in (entry, *_of_capture(function)) for record in one.left_out if record.risky}
    for record in entry.left_out:
        ways = broken.ways(record)
        if ways:
            told.setdefault(ways, LeftOutGuard(record, broken.said(record), ways, _slot(record) in risky))
    by = tuple(dict.fromkeys(record.left_out_by for record in entry.left_out))
    return GuardsLeftOut(tuple(told.values()), len(entry.left_out) - len(told), by)


def _of_capture(function: FunctionRecord) -> list[EntryRecord]:
    """The entries that a capture stores: torch knows of a difference between variants when it makes the later one."""
    return [one for one in function.entries if one.captured]


def _slot(record: GuardRecord) -> tuple[str, str]:
    return record.kind, record.source
