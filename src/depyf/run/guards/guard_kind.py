"""What a kind of guard has to say: the base class of the classes in ``run/guards/kinds/``.

Input: torch's text of a guard, its expression as Python, and a ``Look`` at the values of a call.  Output: expressions,
differences, words, advice.  Nothing here knows torch: what has to ask it is a function of the ``Look`` that the source
gives.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from depyf.run.advice.advice import AdviceUse
from depyf.run.advice.registry import use
from depyf.run.advice.source_names import named
from depyf.run.guards.difference import UNKNOWN, Difference, GuardSide
from depyf.run.places.place import Place
from depyf.run.records import GuardRecord
from depyf.safety.unheard import parse

Uses = tuple[AdviceUse, ...]
NOT_THERE = "is not there"


class MissingError(Exception):
    """There is no such value in the call; its text says so in words."""


class UnknownValueError(Exception):
    """The value cannot be told: the call is unknown, or only code of the program could tell."""


class Look(Protocol):
    """The values of a call, read without running code of the program."""

    def value(self, node: ast.expr) -> Any:
        """The value of an expression; MissingError, UnknownValueError."""

    def side(self, value: Any) -> GuardSide:
        """A value in a few words, with the name of its class."""

    def class_name(self, value: Any) -> str:
        """The class of a value as guards name classes, with its module."""

    def roles(self, source: str) -> tuple[str, ...]:
        """What the value is to the program."""

    def ask(self, name: str, *arguments: Any, **named: Any) -> Any:
        """A function of the source that knows torch, by its name; UnknownValueError where the call is not there."""


@dataclass(frozen=True, slots=True)
class PrintedGuard:
    """A guard as torch prints it."""

    kind: str
    """torch's name for it: ``TYPE_MATCH``; "" in the reason of a recompilation."""
    text: str
    source: str = ""
    """The value that it looks at, which some do not name."""
    has: Callable[[str], bool] = lambda kind: True
    """Whether this torch has guards of that name."""


@dataclass(frozen=True, slots=True)
class GuardFact:
    """What a guard says about the value at ``node``: ``name`` is one of ``kind``, ``value``, ``tensor``, ``length``,
    ``key``, ``same`` (the value at another node) and ``hook`` (an object that a person gives)."""

    name: str
    node: ast.expr
    value: Any = None


class GuardKind:
    """A kind of guard.  The methods here are the defaults."""

    name = ""
    checks: tuple[str, ...] = ()
    """The functions that its expressions call."""
    functions: tuple[Callable[..., Any], ...] = ()
    """Those of them that need nothing of torch and of other modules; the source of live values has the others."""
    asking: frozenset[str] = frozenset()
    """Those of them whose exact answer only torch's own guard knows."""
    says_all: frozenset[str] = frozenset()
    """Those of which subject and values say all: the guard need not be shown."""
    by_class: frozenset[str] = frozenset()
    """Those that look at class, identity or marks of a value, and run nothing of it."""
    reads_sizes: frozenset[str] = frozenset()
    """Those that look at the sizes of a tensor, which may be symbols of a trace."""
    asks_attributes: frozenset[str] = frozenset()
    """Those whose guard of torch asks with ``hasattr``, which calls ``__getattr__`` of the program."""
    unsaid: frozenset[str] = frozenset()
    """Those that may hold in a call whose entry does not have them."""
    quotes: frozenset[str] = frozenset()
    """Those that have the text of the guard as a string."""
    several: frozenset[str] = frozenset()
    """torch's names of guards over several values: each of the values shows them, and they are one."""
    part_only: frozenset[str] = frozenset()
    """torch's names of guards that answer as a part of the whole only, for they remember what they saw, or are no
    leaf."""
    contents: frozenset[str] = frozenset()
    """torch's names of guards on what a container holds, asked in the order of a set, another one in every process."""
    hooked: frozenset[str] = frozenset()
    """Those that no other process can ask: a person says what is to be there."""
    frozen: frozenset[str] = frozenset()
    """Those on a state that a package holds as it was."""
    of_process: frozenset[str] = frozenset()
    """Keywords of its checks that say how torch was built: no package compares them."""
    order = 0
    """Kinds with a lower one are asked first; a general kind comes after those that are more precise."""

    def printed(self, guard: PrintedGuard) -> Iterable[str]:
        """Expressions for torch's text of a guard of this kind, else nothing.  The first one that is Python is used."""
        return ()

    def joined(self, records: list[GuardRecord]) -> list[GuardRecord]:
        """The guards of an entry, with those of torch merged that are one guard to a reader."""
        return records

    def with_handle(self, check: str, operands: list[str], handle: str) -> list[str]:
        """The arguments of a check on a page, with torch's own guard (``guard_0_0[7]``) among them."""
        return [*operands, handle]

    def fits(self, tree: ast.expr) -> bool:
        """Whether an expression is of this kind."""
        return called(tree) in self.checks

    def differences(self, tree: ast.expr, look: Look, holds: bool) -> tuple[Difference, ...]:
        """What the guard wants and what the call has; of a guard that ``holds`` what there is.

        () where another kind that fits knows better.  MissingError where the value that it looks at is not there.
        """
        source = source_of(tree)
        found = look.side(look.value(parse(source, mode="eval").body)) if source else UNKNOWN
        return (self.difference(tree, look, found=found),)

    def difference(self, tree: ast.expr, look: Look, found: GuardSide) -> Difference:
        """The difference between what the guard wants and ``found``, the value in the call."""
        source = source_of(tree)
        return Difference(self.name, source, wanted=self.wanted(tree, look), found=found, roles=look.roles(source))

    def wanted(self, tree: ast.expr, look: Look) -> GuardSide:
        """What the guard wants, independent of the call."""
        return GuardSide(ast.unparse(tree))

    def reported(self, text: str, look: Look) -> tuple[Difference, ...] | None:
        """The differences in torch's message for a failed guard of this kind; None for another message."""
        return None

    def guard_text(self, text: str, differences: tuple[Difference, ...]) -> str:
        """How the failed guard is shown.  ``text``: an expression, or torch's message."""
        return text

    def subject(self, difference: Difference) -> str:
        """What differs, as ``depyf.why`` prints it: ``x differs``."""
        name = self.differing(difference)
        return f"{name} differs" if name else "a guard fails"

    def differing(self, difference: Difference) -> str:
        """The name of the value that differs, where ``subject`` says only that it differs; else ""."""
        return named(difference.source) if difference.source else ""

    def stated(self, difference: Difference) -> tuple[str, str]:
        """The wanted and the found value, worded to be read alone."""
        return difference.wanted.text, difference.found.text

    def values(self, difference: Difference) -> tuple[str, str]:
        """The wanted and the found value, worded to stand beside the guard or its subject; "" for what these say."""
        return difference.wanted.text, difference.found.text

    def about(self, difference: Difference, shown: Callable[[str], str]) -> str:
        """The value that the guard reads, by the program's name.  ``shown`` formats the name for a sentence."""
        return named(difference.source)

    def aspect(self, difference: Difference) -> str:
        """The property of the value that the guard checks, such as ``size``; "" for the value itself."""
        return difference.what

    def sentence(self, difference: Difference, placed: bool, shown: Callable[[str], str]) -> str:
        """Why code was compiled again, where the wanted and found values do not say it; else "".  ``placed``: a line of
        the program caused the guard."""
        return ""

    def plain(self, tree: ast.expr) -> str:
        """A call of one of its checks in plain Python; "" where the expression is that already."""
        return ""

    def brief(self, tree: ast.expr) -> str:
        """A call of one of its checks on one line, without rarely needed parts; "" where ``plain`` is as short."""
        return ""

    def is_machinery(self, tree: ast.expr) -> bool:
        """Whether it follows from how torch finds values, not from what the program does with them."""
        return False

    def surroundings(self, tree: ast.expr) -> list[str]:
        """The unusual state of torch that a call needs, as keywords of an exported package's ``Call``."""
        return []

    def facts(self, tree: ast.expr) -> Iterable[GuardFact]:
        """What a guard says about the values of the calls that it lets pass."""
        return ()

    def advice(self, difference: Difference, place: Place | None) -> Uses:
        """What would make one compilation serve both; ``place``: the line of the program that the guard comes from."""
        return ()

    def advise(self, differences: tuple[Difference, ...], place: Place | None) -> Uses:
        """The advice for all differences that one guard found; () for none."""
        if missing := [one for one in differences if one.found.missing]:
            return tuple(use("always-there", name=named(one.source)) for one in missing[:1] if not one.of_layout)
        return next((found for one in differences if (found := self.advice(one, place))), ())

    def told(self, differences: tuple[Difference, ...], placed: bool, shown: Callable[[str], str]) -> str:
        """``sentence`` for all differences that one guard found."""
        return self.sentence(differences[0], placed, shown) if differences else ""

    def fixed(self, difference: Difference) -> tuple[str, str] | None:
        """The size or number for which the entry was specialised, by torch's name and value; None for other guards."""
        return None


class TorchGuard(Protocol):
    """A guard of torch, alive or not."""

    def check(self, value: Any) -> bool | None:
        """torch's answer for ``value``; None where it cannot be asked."""

    def check_frame(self, L: dict[str, Any], G: Any) -> bool | None:
        """torch's answer for the value that this guard reads from the locals ``L`` and globals ``G`` of a frame; None
        where torch cannot be asked."""


def asked(guard: TorchGuard | None, value: Any, otherwise: bool = True) -> bool:
    """torch's answer for ``value``; ``otherwise`` where torch cannot be asked."""
    answer = guard.check(value) if guard is not None else None
    return otherwise if answer is None else answer


@functools.lru_cache(maxsize=4096)
def tree_of(expression: str) -> ast.expr | None:
    """The tree of an expression; None for what is none."""
    try:
        return parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def called(tree: ast.expr) -> str:
    """The name of the function that the expression ``tree`` calls; "" where it is no such call."""
    return tree.func.id if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) else ""


def arguments(tree: ast.expr) -> list[ast.expr]:
    return tree.args if isinstance(tree, ast.Call) else []


def check_in(guard: str | ast.expr, checks: Collection[str]) -> ast.expr | None:
    """The call of one of ``checks`` that a guard is; None for another guard."""
    if isinstance(guard, str):
        calls = guard.strip().partition("(")[0] in checks  # few do: most are not parsed
        tree = tree_of(guard) if calls else None
    else:
        tree = guard
    return tree if tree is not None and called(tree) in checks else None


def operands_of(guard: str | ast.expr, checks: Collection[str]) -> list[ast.expr]:
    """The positional arguments of the call of one of ``checks`` that ``guard`` is; [] for any other guard."""
    call = check_in(guard, checks)
    return arguments(call) if call is not None else []


def keywords(tree: ast.expr) -> dict[str, ast.expr]:
    found = tree.keywords if isinstance(tree, ast.Call) else []
    return {keyword.arg: keyword.value for keyword in found if keyword.arg is not None}


def is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError, MemoryError):
        return False
    return True


def literal_side(node: ast.expr) -> GuardSide:
    """The side of a difference for a Python literal."""
    try:
        return GuardSide(ast.unparse(node), type(ast.literal_eval(node)).__name__)
    except (ValueError, TypeError, RecursionError, MemoryError):
        return GuardSide(ast.unparse(node))


def side_of(look: Look, node: ast.expr) -> GuardSide:
    """The side of a difference for the value of an expression, empty where it cannot be read.  MissingError where the
    call has no such value."""
    try:
        return look.side(look.value(node))
    except UnknownValueError:
        return UNKNOWN


def sources_in(tree: ast.expr) -> list[str]:
    """The values that an expression looks at, with their attributes and items, up to the first call: ``L['x']`` of
    ``L['x'].size()[0] == 3``; each once."""
    found: dict[str, None] = {}
    _collect(tree, found)
    return list(found)


def source_of(tree: ast.expr) -> str:
    """The first value that an expression reads; "" where it reads none."""
    return next(iter(sources_in(tree)), "")


def _collect(node: ast.AST, found: dict[str, None]) -> None:
    path = _path(node)
    if path is not None:
        found.setdefault(spelled(path))
        return
    function = node.func if isinstance(node, ast.Call) else None
    for child in ast.iter_child_nodes(node):
        if child is not function or not isinstance(child, ast.Name):
            _collect(child, found)


def spelled(node: ast.AST) -> str:
    """As ``ast.unparse`` has it; of a path of attributes and items, and of a call with some, in a twentieth of its
    time."""
    match node:
        case ast.Constant(str() | int() as constant):
            return repr(constant)
        case ast.Call(ast.Name(name), arguments, []):
            return f"{name}({', '.join(map(spelled, arguments))})"
    steps: list[str] = []
    inner = node
    while True:
        match inner:
            case ast.Attribute(value, name) if not isinstance(value, ast.Constant):
                steps.append(f".{name}")
            case ast.Subscript(value, ast.Constant(str() | int() as key)):
                steps.append(f"[{key!r}]")
            case ast.Name(name):
                return name + "".join(reversed(steps))
            case _:
                return ast.unparse(node)
        inner = value


def _path(node: ast.AST) -> ast.AST | None:
    last: ast.AST | None = None
    while isinstance(node, (ast.Subscript, ast.Attribute, ast.Call)):
        if isinstance(node, ast.Call):
            if not isinstance(node.func, ast.Attribute):
                return None
            last, node = None, node.func.value
        else:
            last = last or node
            node = node.value
    if not isinstance(node, ast.Name) or node.id in ("torch", "math", "float", "list", "dict", "set", "len", "type"):
        return None
    return last or node
