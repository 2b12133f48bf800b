"""What was asked about sizes and numbers while an entry was compiled, and what would have been the answer.

Input: entries of one function, with the conditions that torch took down (``ShapeFact``).  Output: whether the program,
or an operator of torch, goes another way in the call of another entry: then one entry, with symbols for what differs,
does not serve both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from depyf.run.advice.source_names import named, of_wrapped
from depyf.run.compile_stages import CAPTURED
from depyf.run.guards.kinds.tensor_guard import layout_of
from depyf.run.records import CompileKey, EntryRecord, FunctionRecord, GraphRecord
from depyf.run.shapes.size_expression import NO_VALUE, Program, evaluator, read_size_expression

_BELOW = frozenset(("<", "<=", ">", ">="))


class ProgramQuestions:
    """The questions for which one entry was compiled: those of the program itself, and whether a size is below a bound
    of an operator of torch (a convolution asks that of its batch to choose how it computes)."""

    def __init__(self, entry: EntryRecord) -> None:
        self._names = {symbol.name: in_program(symbol.source, entry) for symbol in entry.symbols}
        self._values = {
            symbol.name: int(symbol.value) for symbol in entry.symbols if symbol.value.lstrip("-").isdigit()
        }
        self._asked = list(_questions(entry, self._values))

    def answers_otherwise(self, other: Mapping[str, int], freed: Iterable[str]) -> bool:
        """Whether one of them has another answer with the values ``other`` of those that are ``freed``; all by the
        program's names (``x.size()[0]``)."""
        names = set(freed)
        values = {
            symbol: other.get(self._names[symbol], value) if self._names[symbol] in names else value
            for symbol, value in self._values.items()
        }
        if values == self._values:
            return False
        for question in self._asked:
            try:
                if not question(values):
                    return True
            except NO_VALUE:
                continue
        return False


def values_of_call(entry: EntryRecord) -> dict[str, int]:
    """The sizes and numbers of the call for which ``entry`` was made, by the program's names."""
    found = {
        f"{in_program(layout.tensor, entry)}.size()[{index}]": size
        for guard in entry.guards
        if (layout := layout_of(guard.expression)) is not None
        for index, size in enumerate(layout.sizes)
        if size is not None
    }
    for symbol in entry.symbols:
        if symbol.value.lstrip("-").isdigit():
            found[in_program(symbol.source, entry)] = int(symbol.value)
    return found


def _questions(entry: EntryRecord, values: Mapping[str, int]) -> Iterable[Program]:
    for fact in entry.shape_facts:
        expression = read_size_expression(fact.expression) if fact.place is not None else None
        if expression is None or (fact.operator and expression.op not in _BELOW):
            continue  # that sizes are equal is mostly so for every call: operators compare those of their arguments
        if set(expression.names) <= values.keys():
            yield evaluator(expression)


def in_program(source: str, entry: EntryRecord) -> str:
    """What the program calls ``source``, torch's name for a value of the call that made ``entry``."""
    name = named(source)
    return of_wrapped(name, entry.wrapped_parameters) if entry.wrapped else name


def offsets_of(function: FunctionRecord, graphs: Iterable[GraphRecord]) -> dict[CompileKey, dict[str, int]]:
    known = {entry.key: entry for entry in function.entries}
    found: dict[CompileKey, dict[str, int]] = {}
    for graph in graphs:
        entry = known.get(graph.key)
        if entry is None or graph.facts is None or graph.stage != CAPTURED:
            continue
        starts = found.setdefault(graph.key, {})
        for one in graph.facts.inputs:
            if one.tensor is not None and one.source:
                starts[in_program(one.source, entry)] = one.tensor.offset
    return found


def pinned_below(functions: Iterable[FunctionRecord]) -> dict[tuple[int, str], frozenset[str]]:
    """Function -> the sizes that were made constants in what it calls, its rests among them."""
    found: dict[tuple[int, str], frozenset[str]] = {}
    for entry in (entry for function in functions for entry in function.entries):
        sizes = frozenset(one.became for one in entry.symbols if one.became and ".size()[" in one.source)
        for caller in entry.callers if sizes else ():
            if caller.function is not None:
                found[caller.function] = found.get(caller.function, frozenset()) | sizes
    return found
