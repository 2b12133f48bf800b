"""What would let a guarded value change without another compilation.

Input: a value of which a guard failed, and the entry that was made then.  Output: advice, the best first: what the kind
of the guard says, or better where the entry knows what became of the value.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import replace

from depyf.run.advice.advice import AdviceUse, Frees, SwitchKind
from depyf.run.advice.for_guards import for_number_operand, for_specialised
from depyf.run.advice.number_operands import numbers_of
from depyf.run.advice.registry import ADVICE, applicable, use
from depyf.run.advice.source_names import named, of_wrapped, root, split_global
from depyf.run.causes.guard_replay import FailedValue
from depyf.run.guards.kinds.tensor_guard import TensorLayout, layout_of
from depyf.run.guards.known_kinds import advice
from depyf.run.installed_files import installed
from depyf.run.places.place import Place
from depyf.run.records import CodeRecord, EntryRecord, FunctionRecord, RecompileRecord
from depyf.run.uses.use_kinds import ValueUse
from depyf.run.uses.value_uses import indexed_by, uses_of
from depyf.safety.unheard import parse

Uses = tuple[AdviceUse, ...]


_NOT_FOUND = frozenset((ValueUse.UNKNOWN,))
_NEEDED = frozenset((ValueUse.LOOP, ValueUse.KEY, ValueUse.CONSTANT))
"""Uses for which torch must know a number while compiling: a loop is unrolled."""
_DECIDES = frozenset((ValueUse.BRANCH, ValueUse.CHECK, ValueUse.REPORT, ValueUse.SIZE, *_NEEDED))
"""Uses for which a number that is in a tensor has to be read out of it: an ``if`` does that, whatever is in it."""
_COMPUTES = frozenset((ValueUse.ARITHMETIC, ValueUse.LOG, ValueUse.RETURNED, ValueUse.STORED))
"""Uses for which a tensor does as well."""
TENSORS = frozenset("number-as-tensor tensor-in-object tensor-in-module global-as-tensor".split())
_SYMBOLS = (Frees.SYMBOL_WHEN_CHANGED, Frees.SYMBOLS)


class ValueAdvice:
    """Advice on the values that guards of ``function`` refused in the call for which ``entry`` was compiled."""

    def __init__(self, function: FunctionRecord, entry: EntryRecord) -> None:
        self._code = function.code
        layouts = [found for one in function.entries if (found := _layouts(one))]
        tensors = (named(layout.tensor) for layout in _layouts(entry))
        self._tensors = frozenset(
            of_wrapped(name, entry.wrapped_parameters) if entry.wrapped else name for name in tensors
        )
        self._fixed = _fixed([entry, *function.entries])
        self._as_parameter = {
            size: parameter
            for size in self._fixed
            if _asked_by_operation(size, function.entries) and (parameter := _parameter_of(size, layouts))
        }
        self._symbols = frozenset(
            named(symbol.source) for one in function.entries for symbol in one.symbols if not symbol.constant
        )
        self._numbers = numbers_of(entry.guards)
        self._in_force = frozenset(entry.in_force)
        caller = entry.callers[-1] if entry.callers else None
        self._inside = caller is not None and caller.function is not None and installed(caller.place.filename)

    def on(self, failed: FailedValue) -> Uses:
        """The advice on one such value, the best first; () for none."""
        difference = failed.difference
        if difference is None:
            return ()
        name = named(difference.source)
        subject = f"{name}.size()[{difference.index}]" if difference.what == "size" else name
        if name in self._numbers and not difference.what:
            found = for_number_operand(name)
        elif subject in self._as_parameter and difference.relation == "==":
            found = (use("dynamic-parameters", tensor=self._as_parameter[subject]),)
        elif subject in self._fixed and difference.relation == "==":
            found = for_specialised(subject, self._fixed[subject])
        else:
            found = advice((difference,), failed.place)
            constant = difference.wanted.is_integer and not difference.what and name not in self._symbols
            if constant and self._is_needed(name, failed.place):
                found = self._without_symbols(found, name, failed.place)
            elif not difference.what and _decides(
                self._code, name, failed.place
            ):  # a tensor in its place breaks the graph
                found = tuple(one for one in found if one.id not in TENSORS)
        return applicable((one for one in found if not self._out_of_hand(one)), self._in_force)

    def undecided(self, failed: FailedValue) -> bool:
        """Whether the program decides by the number, which is a symbol in no entry: no guard shows how it decides."""
        difference = failed.difference
        if difference is None or difference.what or not difference.wanted.is_integer:
            return False
        name = named(difference.source)
        return name not in self._symbols and _decides(self._code, name, failed.place)

    def unseen(self, failed: FailedValue) -> bool:
        """Whether not all is seen that the program does with the number: a tensor in its place may break the graph."""
        difference = failed.difference
        if difference is None or difference.what:
            return False
        _, _, uses = _use(self._code, named(difference.source), failed.place)
        return not uses <= _COMPUTES

    def _out_of_hand(self, one: AdviceUse) -> bool:
        """Whether it marks a tensor that a library passes to its own function, or one that a decorator passes on."""
        switch = ADVICE[one.id].switch
        if switch is None or switch.kind is not SwitchKind.MARK:
            return False
        rest = self._code.varargs is not None and self._code.decorated is not None
        return self._inside or (rest and root(one.value("tensor")) == self._code.varargs)

    def _is_needed(self, name: str, place: Place | None) -> bool:
        """Whether the program needs the number ``name`` while it is compiled, so that no symbol does."""
        text, spelled, uses = _use(self._code, name, place)
        other = split_global(name)[1]
        return bool(uses & _NEEDED) or (ValueUse.INDEX in uses and not self._indexes_tensors(text, spelled, other))

    def _indexes_tensors(self, text: str, spelled: str, name: str) -> bool:
        """Whether ``name`` indexes nothing but tensors: those of the guards, or results of modules. Of a list torch
        must know the index. ``spelled``: what ``text`` calls it."""
        indexed = indexed_by(text, spelled)
        owner, other = spelled.rpartition(".")[0], name.rpartition(".")[0]
        known = (one.replace(owner, other, 1) if owner and one.startswith(f"{owner}.") else one for one in indexed)
        return bool(indexed) and all(one in self._tensors or _returned(one) for one in known)

    @staticmethod
    def _without_symbols(found: Uses, name: str, place: Place | None) -> Uses:
        """The line that needs the number, in the place of what would make a symbol of it, or a tensor."""
        where = () if place is None else for_specialised(name, place)
        return where or tuple(one for one in found if ADVICE[one.id].frees not in _SYMBOLS)


def without_tensors(entries: Iterable[EntryRecord], code: CodeRecord) -> list[EntryRecord]:
    """The entries of the function ``code`` without the advice to make a tensor of a number by which it decides."""

    def told(record: RecompileRecord) -> RecompileRecord:
        if all(one.id not in TENSORS for one in record.advice) or len(record.differences) != 1:
            return record
        if not _decides(code, named(record.differences[0].source), record.place):
            return record
        return replace(record, advice=tuple(one for one in record.advice if one.id not in TENSORS))

    return [replace(entry, recompiles=tuple(map(told, entry.recompiles))) for entry in entries]


def _use(code: CodeRecord, name: str, place: Place | None) -> tuple[str, str, frozenset[ValueUse]]:
    """The text that reads the number ``name``, how it calls it, and what it does with it."""
    name = split_global(name)[1]
    text = _read_in(code, place)
    uses = uses_of(text, name)
    if uses == _NOT_FOUND and place is not None:  # another function reads it, and calls its owner otherwise
        text = _alone(place.text)
        spelled = _spelled(text, name)
        return text, spelled, uses_of(text, spelled) if spelled else uses
    return text, name, uses


def _decides(code: CodeRecord, name: str, place: Place | None) -> bool:
    """Whether the program decides by the number ``name``."""
    return bool(_use(code, name, place)[2] & _DECIDES)


def _read_in(code: CodeRecord, place: Place | None) -> str:
    """The source of the function where ``place`` is in its file, else the line there."""
    own = code.source and (place is None or place.filename == code.filename)
    return code.source if own else _alone(place.text) if place is not None else ""


def _fixed(entries: Iterable[EntryRecord]) -> dict[str, Place | None]:
    """The symbols that are constants in some compiled code: what the program calls them -> the line that made them so,
    the first that is known.  Of 0 and 1 torch makes constants itself."""
    found: dict[str, Place | None] = {}
    for symbol in (symbol for entry in entries for symbol in entry.symbols if symbol.constant):
        if {symbol.became, symbol.equals} & {"0", "1"}:
            continue
        name = named(symbol.source)
        found[name] = found.get(name) or symbol.where
    return found


def _layouts(entry: EntryRecord) -> list[TensorLayout]:
    return [layout for guard in entry.guards if (layout := layout_of(guard.expression)) is not None]


def _asked_by_operation(size: str, entries: Iterable[EntryRecord]) -> bool:
    """Whether an operation on tensors made a constant of ``size``, and not the program itself."""
    return any(
        fact.operator and fact.expression == f"Eq({symbol.name}, {symbol.became})"
        for entry in entries
        for symbol in entry.symbols
        if symbol.constant and named(symbol.source) == size
        for fact in entry.shape_facts
    )


def _parameter_of(size: str, layouts: Iterable[Iterable[TensorLayout]]) -> str:
    """The parameter with a dimension that is as large as ``size`` in each entry, where entries differ in it; "" for
    none.  torch makes no symbol of its size, and an operation on both makes a constant of the other's."""
    same: set[tuple[str, int]] | None = None
    values = set()
    for entry in layouts:
        sizes = {
            (named(one.tensor), at): number
            for one in entry
            for at, number in enumerate(one.sizes)
            if number is not None and one.of_parameter
        }
        others = {f"{named(one.tensor)}.size()[{at}]": number for one in entry for at, number in enumerate(one.sizes)}
        wanted = others.get(size)
        equal = {place for place, number in sizes.items() if number == wanted}
        same = equal if same is None else same & equal
        values.add(wanted)
    return min(same)[0] if same and len(values) > 1 else ""


def _returned(text: str) -> bool:
    """Whether an expression is what a module returns, or a part of it: ``self.proj(x)[mask]``."""
    return text.startswith("self.") and "(" in text


def _spelled(text: str, name: str) -> str:
    """How ``text`` spells the attribute ``name``: ``self.layer_idx`` for ``block.layer_idx``; "" where it does not, or
    in several ways."""
    last = name.rpartition(".")[2]
    try:
        nodes = [node for node in ast.walk(parse(text)) if isinstance(node, ast.Attribute) and node.attr == last]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    found = {ast.unparse(node) for node in nodes}
    return found.pop() if "." in name and len(found) == 1 else ""


def _alone(line: str) -> str:
    """A line as a text of Python, be it the head of a compound statement."""
    return f"{line}\n    pass" if line.endswith(":") else line
