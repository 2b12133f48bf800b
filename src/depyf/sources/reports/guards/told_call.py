"""The values of a call that is over, as far as guards tell them: those of the entry that was made for it.

Where torch compiled a function again, the guards of the new entry hold for the call that needed it: ``L['n'] == 3``
among them says that ``n`` was 3.  A value that became a symbol is in no guard, and stays unknown.

Input: the guards of an entry.  Output: a ``Look`` for guards of earlier entries, which did not hold in that call.
"""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count, repeat
from typing import Any

from depyf.run.advice.source_names import named, split_global, without_mapping
from depyf.run.advice.symbol_places import SymbolPlaces
from depyf.run.guards.difference import GuardSide
from depyf.run.guards.guard_kind import GuardFact, Look, UnknownValueError, is_literal, spelled, tree_of
from depyf.run.guards.known_kinds import (
    NO_CALL,
    differences_of,
    facts_in,
    fixed,
    plain,
    recompile_record,
    reported_differences,
)
from depyf.run.records import FailedGuardRecord, GuardRecord, RecompileRecord
from depyf.safety.unheard import parse
from depyf.sources.reports.guards.guard_remarks import program_place

_COMPARED = re.compile(r" == -?\d+$")
_WORD = re.compile(r"\w+")
_BUILTINS = re.compile(r"(?<=__builtins_dict__)_\d+")
"""The number of a compilation in the name of what they all share."""
UNKNOWN_VALUE = object()
_NUMBERS = ("int", "float", "bool", "str", "bytes")
"""Classes of which the value says more than the class."""


@dataclass(frozen=True, slots=True)
class OfClass:
    """A value of which only the class is known."""

    name: str
    """With its module, as guards name classes."""


@dataclass(slots=True)
class _SaidOfValue:
    """What guards say of one value."""

    value: Any = UNKNOWN_VALUE
    length: int | None = None
    sizes: tuple[int | None, ...] = ()
    tensor: Mapping[str, Any] | None = None


class GuardedCall:
    """The call for which an entry was compiled, as far as its guards tell it."""

    def __init__(self, guards: Iterable[GuardRecord], call: Look = NO_CALL) -> None:
        """``call``: what else is known of it."""
        self._guards = tuple(guards)
        self._call = call
        self._values: dict[str, _SaidOfValue] = {}

    @property
    def places(self) -> SymbolPlaces:
        """The lines that specialised symbols to constants: torch guards such a number separately."""
        lines = {}
        for guard in self._guards:
            number = _number(guard.expression) if guard.place is not None else None
            if number is not None and guard.place is not None:
                lines[named(number[0])] = guard.place
        return SymbolPlaces({}, lines)

    def value(self, node: ast.expr) -> Any:
        found = self._known(_name(node)).value
        if isinstance(found, OfClass):  # a number that became a symbol: the guard says no more
            with contextlib.suppress(UnknownValueError):
                return self._call.value(node)
        if found is not UNKNOWN_VALUE:
            return found
        match node:
            case ast.Call(ast.Name("len"), [counted], []):
                found = self._known(_name(counted)).length
            case ast.Subscript(ast.Call(ast.Attribute(owner, "size"), [], []), ast.Constant(int(index))):
                sizes = self._known(_name(owner)).sizes
                found = sizes[index] if index < len(sizes) else None
            case _:
                return self._call.value(node)
        if found is None:
            raise UnknownValueError
        return found

    def refusal(self, compile_id: str, guards: Iterable[GuardRecord]) -> RecompileRecord | None:
        """Why an entry with these guards did not fit: the first guard known to want another value than the call had.
        None for none."""
        own = frozenset(guard.expression for guard in self._guards)
        for guard in guards:
            tree = tree_of(guard.expression) if guard.expression not in own else None
            for fact in facts_in(guard.expression) if tree is not None else ():
                text = self._mismatch(fact)
                if text:  # torch tells of no line either
                    return recompile_record(compile_id, text, None, reported_differences(text, self))
                if tree is not None and self._differs(fact):
                    shown = without_mapping(plain(guard.expression))
                    found = differences_of(tree, self, holds=False)
                    return recompile_record(compile_id, shown, program_place(guard.place), found)
        return None

    def failed(self, guards: Iterable[GuardRecord]) -> tuple[FailedGuardRecord, ...] | None:
        """All guards of an earlier entry that failed in the call; None where that is unknown for one of them, or where
        the found value is."""
        found = list(self._judged(guards))
        return None if None in found else tuple(one for one in found if one is not None)

    def known_failed(self, guards: Iterable[GuardRecord]) -> Iterator[FailedGuardRecord]:
        """The guards of an earlier entry of which it is known that they failed in the call."""
        return (one for one in self._judged(guards) if one is not None)

    def _judged(self, guards: Iterable[GuardRecord]) -> Iterator[FailedGuardRecord | None]:
        """Each guard that failed; None for one of which that is unknown."""
        own = frozenset(_BUILTINS.sub("", guard.expression) for guard in self._guards)
        for guard in guards:
            if _BUILTINS.sub("", guard.expression) in own:
                continue
            tree = tree_of(guard.expression)
            facts = list(facts_in(guard.expression)) if tree is not None else []
            held = [self._holds(fact) for fact in facts]
            fact = next((fact for fact, holds in zip(facts, held) if holds is False), None)
            if tree is None or not facts or None in held:
                yield None
            elif fact is not None:
                text = self._mismatch(fact)
                told = reported_differences(text, self) if text else differences_of(tree, self, holds=False)
                told = tuple(replace(one, source=guard.source or one.source) for one in told)
                yield FailedGuardRecord(guard.expression, program_place(guard.place), told)

    def _holds(self, fact: GuardFact) -> bool | None:
        """Whether what a guard says of a value was so in the call; None where that is not known."""
        known = self._known(_name(fact.node))
        if fact.name == "value":
            if known.value is UNKNOWN_VALUE or isinstance(known.value, OfClass):
                return None
            return repr(known.value) == str(fact.value)
        if fact.name == "kind" and isinstance(known.value, OfClass):
            return known.value.name == str(fact.value)
        if fact.name == "tensor" and known.tensor is not None:
            others = {name: value for name, value in fact.value.items() if name != "size"}
            if any(known.tensor.get(name) != value for name, value in others.items()):
                return None
            sizes = tuple(fact.value.get("size", ()))
            if len(sizes) == len(known.sizes) and all(a is None or b is not None for a, b in zip(sizes, known.sizes)):
                return not self._mismatch(fact)
        return None

    def _differs(self, fact: GuardFact) -> bool:
        known = self._known(_name(fact.node))
        if fact.name == "length":
            return known.length is not None and known.length != fact.value
        value = known.value
        if fact.name == "kind":
            return isinstance(value, OfClass) and value.name != fact.value
        if fact.name != "value" or value is UNKNOWN_VALUE or isinstance(value, OfClass):
            return False
        return repr(value) != str(fact.value)

    def _mismatch(self, fact: GuardFact) -> str:
        """How a tensor differs from what the guard wants, as torch says it; "" where it does not."""
        known = self._known(_name(fact.node))
        if fact.name != "tensor" or known.tensor is None:
            return ""
        head = f"tensor '{_name(fact.node)}'"
        for name in ("dtype", "requires_grad"):
            wanted, found = fact.value.get(name), known.tensor.get(name)
            if wanted != found:
                wanted = f"requires_grad={int(wanted)}" if name == "requires_grad" else wanted
                return f"{head} {name} mismatch. expected {wanted}" + (f", actual {found}" if name == "dtype" else "")
        sizes = tuple(fact.value.get("size", ()))
        if len(sizes) != len(known.sizes):
            return f"{head} rank mismatch. expected {len(sizes)}, actual {len(known.sizes)}"
        for index, (size, there) in enumerate(zip(sizes, known.sizes, strict=True)):
            if size is not None and there is not None and size != there:
                return f"{head} size mismatch at index {index}. expected {size}, actual {there}"
        return ""

    def side(self, value: Any) -> GuardSide:
        if not isinstance(value, OfClass):
            return self._call.side(value)
        kind = value.name.rpartition(".")[2]
        return GuardSide("" if kind in _NUMBERS else f"a {kind}", kind)

    def class_name(self, value: Any) -> str:
        return value.name if isinstance(value, OfClass) else self._call.class_name(value)

    def roles(self, source: str) -> tuple[str, ...]:
        return self._call.roles(source)

    def ask(self, name: str, *arguments: Any, **named: Any) -> Any:
        if name == "measured":
            (node,) = arguments
            counted = node if isinstance(node, ast.Call) else ast.Call(ast.Name("len", ast.Load()), [node], [])
            return self.side(self.value(counted))
        raise UnknownValueError

    def class_known(self, name: str) -> str:
        """The class of a value of which nothing else is known; "" for other values."""
        found = self._known(name).value if name else None
        return found.name if isinstance(found, OfClass) else ""

    def _size(self, tensor: ast.expr, index: int, size: int | None) -> int | None:
        """A size, also of a dimension that any size fits."""
        if size is not None:
            return size
        asked = ast.Call(ast.Attribute(tensor, "size", ast.Load()), [], [])
        try:
            found = self._call.value(ast.Subscript(asked, ast.Constant(index), ast.Load()))
        except UnknownValueError:
            return None
        return found if type(found) is int else None

    def _known(self, name: str) -> _SaidOfValue:
        """What is said of a value, in the program's words; only guards that may be on it are read."""
        if name in self._values:
            return self._values[name]
        known = self._values[name] = _SaidOfValue()
        words = _WORD.findall(split_global(name)[1])
        for guard in self._guards:
            if all(word in guard.expression for word in words):
                for fact in facts_in(guard.expression):
                    if _name(fact.node) == name:
                        _take(known, fact)
                        known.sizes = tuple(map(self._size, repeat(fact.node), count(), known.sizes))
                number = _number(guard.expression)
                if number is not None and named(number[0]) == name:
                    known.value = int(number[1])
        return known


def _take(known: _SaidOfValue, fact: GuardFact) -> None:
    if fact.name == "value":
        value = parse(str(fact.value), mode="eval").body
        if is_literal(value):
            known.value = ast.literal_eval(value)
    elif fact.name == "length":
        known.length = int(fact.value)
    elif fact.name == "tensor":
        known.sizes = tuple(fact.value.get("size", ()))
        known.tensor = fact.value
    if known.value is UNKNOWN_VALUE and fact.name in ("kind", "tensor"):
        known.value = OfClass(str(fact.value) if fact.name == "kind" else "torch.Tensor")


def _number(expression: str) -> tuple[str, str] | None:
    """The number or size that a guard compares with a constant, and the constant."""
    tree = tree_of(expression) if _COMPARED.search(expression) is not None else None
    return fixed(differences_of(tree, NO_CALL, holds=True)) if isinstance(tree, ast.Compare) else None


def _name(node: ast.expr) -> str:
    """The value in the program's words: torch writes ``L['x']`` in a guard and ``x`` where it failed."""
    return named(spelled(node))
