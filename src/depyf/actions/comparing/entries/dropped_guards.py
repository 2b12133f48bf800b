"""What changed since an entry was made, where no guard of the entry saw it: the value, its guard, and who left it out.

Input: a call, and the entry that ran for it; another one is made for the same call, apart.  Output: sentences.  A guard
that a recording heard is asked; of others the graphs tell, where they are alive: a constant that the entry's graph has,
and another one at the same operation anew.  A comparison by ``is`` that torch decided is tried: Python with the other
answer does what the entry did.
"""

from __future__ import annotations

import ast
import builtins
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from depyf.actions.comparing.against_model import operation_name
from depyf.actions.comparing.call_outcome import CallOutcome
from depyf.decompiler.bytecode.host.identity_tests import with_contrary_is
from depyf.run.advice.source_names import named
from depyf.run.guards.difference import Difference
from depyf.run.guards.guard_kind import GuardFact, sources_in, tree_of
from depyf.run.guards.known_kinds import facts_in, stated
from depyf.run.guards.unguarded_value import IdentityRead, WhyUnguarded
from depyf.run.guards.unguarded_values import unguarded_values
from depyf.run.places.place import Place
from depyf.run.records import GuardRecord
from depyf.safety.unheard import parse
from depyf.sources.live.ahead.filtered_guards import filter_of, filter_words, left_out_of
from depyf.sources.live.caches.entries import LiveEntry
from depyf.sources.live.caches.live_graphs import compiled_functions, live_code
from depyf.sources.live.events.call_values import CallValues
from depyf.sources.live.guards.ask import ask_entry
from depyf.sources.live.guards.guard_tree import live_guards, namespace
from depyf.sources.live.guards.guard_values import evaluate, found_by
from depyf.sources.live.origins.probes import describe
from depyf.sources.live.pure_access import SCALARS, is_a
from depyf.sources.live.unguarded.called_frames import compiled_frame
from depyf.sources.live.unguarded.live_unguarded import guards_of_rests
from depyf.sources.live.unguarded.unguarded_reads import SourceTrees, reads_of

if TYPE_CHECKING:
    from depyf.actions.comparing.against_python import Calls

_NAMED = 4
"""How many values are named."""
_OF_TORCH = ("__import_", "__builtins_dict__", "utils_device")
"""How globals begin that torch makes."""
_KEYS = "DICT_CONTAINS"
_TENSOR, _MARKS = "check_tensor", "no_dynamic_marks"
"""Guards on tensors."""


@dataclass(frozen=True, slots=True)
class GraphOperation:
    """An operation of a graph, with its constants."""

    operation: tuple[str, str]
    """What kind of node it is, and what it calls."""
    numbers: tuple[Any, ...]
    place: str


@dataclass(frozen=True, slots=True)
class EntryAnew:
    """The guards and operations of an entry that was compiled again for comparison."""

    guards: tuple[GuardRecord, ...] = ()
    operations: tuple[GraphOperation, ...] = ()


def entry_anew(calls: Calls, entry: LiveEntry) -> EntryAnew:
    """Compile ``entry`` again for the same call without symbols: each value that the code reads then has a guard, and
    is a constant in the graph."""
    found: list[EntryAnew] = []
    backend = calls.backend if any(True for _ in _operations(entry)) else "eager"
    calls.anew(backend, dynamic=False, then=lambda: found.append(_kept(calls.entries_anew)))
    return found[0]


def _kept(entries: Sequence[LiveEntry]) -> EntryAnew:
    guards = tuple(guard.record for entry in entries for guard in live_guards(entry))
    return EntryAnew(guards, tuple(one for entry in entries for one in _operations(entry)))


def _operations(entry: LiveEntry) -> Iterator[GraphOperation]:
    import torch.fx

    for module in live_code(compiled_functions(entry)).modules:
        for node in module.graph.nodes if is_a(module, torch.fx.GraphModule) else ():
            if node.op == "placeholder":  # sizes are inputs of one graph, and constants of another one
                continue
            leaves: list[Any] = []
            torch.fx.node.map_aggregate((node.args, node.kwargs), leaves.append)
            numbers = tuple(leaf for leaf in leaves if type(leaf) in SCALARS)
            yield GraphOperation((node.op, _called(node)), numbers, describe(node).place)


def _called(node: Any) -> str:
    return node.target if isinstance(node.target, str) else operation_name(node.target)


def failing_guards(calls: Calls, entry: LiveEntry) -> tuple[str, ...]:
    """Sentences on the guards of ``entry`` that this call does not meet, though torch ran the entry."""
    target = calls.target
    if target is None:
        return ()
    names = target.frame_locals(calls.args, calls.kwargs)
    steps = ask_entry(entry, names, code=target.code).failing_steps
    return tuple(f"a guard of it fails: {_changed(s.differences, s.expression, s.place)}" for s in steps[:_NAMED])


def _changed(differences: tuple[Difference, ...], guard: str, place: Place | None) -> str:
    """What a guard wants and what there is."""
    wanted, found = stated(differences)
    name = named(differences[0].source) if differences and differences[0].source else guard
    return f"{name} was {wanted} and is {found}{_at(place)}" if wanted and found else f"{guard}{_at(place)}"


def dropped(calls: Calls, entry: LiveEntry, own: CallOutcome) -> tuple[str, ...]:
    """Sentences on the guards that ``entry`` lacks for this call.  ``own``: the outcome of the entry."""
    recorded = tuple(_recorded(calls, entry))
    if recorded:
        return recorded
    anew = entry_anew(calls, entry)
    found = parting(tuple(_operations(entry)), anew.operations)
    missing = tuple(_missing(calls, entry, anew, found))
    return (*missing, *_without_guards(calls, entry, own, not missing))


def _recorded(calls: Calls, entry: LiveEntry) -> Iterator[str]:
    """Guards that a filter left out while a recording heard it, and that fail now."""
    target = calls.target
    guards = left_out_of(entry.manager) if target is not None else ()
    if target is None or not guards:
        return
    variables = target.frame_locals(calls.args, calls.kwargs)
    names, call = namespace(entry, variables), CallValues(variables, entry.scope, code=target.code)
    said = 0
    for guard in guards:
        if said == _NAMED or evaluate(guard.expression, names):
            continue
        said += 1
        changed = _changed(found_by(guard.expression, names, False, call), guard.expression, guard.place)
        yield f"{changed}: {guard.left_out_by} left out its guard, {guard.kind}"


def _missing(calls: Calls, entry: LiveEntry, anew: EntryAnew, parting: Parting | None) -> Iterator[str]:
    """Values that an entry made anew guards, and the one that ran does not."""
    kept = {source: None for guard in live_guards(entry) for source in _sources(guard.record)}
    missing: dict[str, list[GuardRecord]] = {}
    for guard in anew.guards:
        for source in _sources(guard):
            if source not in kept and not source.startswith(tuple(f"G['{name}" for name in _OF_TORCH)):
                missing.setdefault(source, []).append(guard)
    yield from _found_elsewhere(kept, missing)
    missing = _telling(missing, parting is None)
    told = {source: guards for source, guards in missing.items() if any(one.kind != _KEYS for one in guards)}
    missing = told or missing  # that a name is none of a dict's is a guard on all that has attributes
    within = {one for one in missing for other in missing if other != one and other.startswith((f"{one}.", f"{one}["))}
    names = [source for source in missing if source not in within or _length(missing[source])]
    names.sort(key=lambda source: _rank(missing[source], parting))
    keep = filter_of(calls.fn)
    by = f": {filter_words(keep)} left it out" if keep is not None else ""
    for number, source in enumerate(names[:_NAMED]):
        guard, value = missing[source][0], _value(missing[source])
        now = f", which is {value!r} now" if value is not _NOTHING else ""
        if number == 0 and parting is not None and parting.constants and value == parting.constants[1]:
            now = f", which is {value!r} now (the entry's graph has {parting.constants[0]!r})"
        looked = f"no guard of the entry looks at {named(source)}{_at(guard.place)}{now}"
        yield f"{looked}, and an entry made anew has one, {guard.kind}{by}"
    if len(names) > _NAMED:
        yield f"... nor at {len(names) - _NAMED} more"
    constants = () if parting is None else parting.constants
    if parting is not None and not (constants and any(_value(missing[one]) == constants[1] for one in names)):
        yield parting.text


def _found_elsewhere(kept: Mapping[str, None], missing: dict[str, list[GuardRecord]]) -> Iterator[str]:
    """Take out what has the name of a value that the entry looks at, and is found in another place now, such as an
    attribute of an object that hides one of its class."""
    before = {named(source): source for source in kept}
    for source in sorted(missing, key=len):
        guards, name = missing.get(source), named(source)
        if guards is None or name not in before or source == before[name]:
            continue
        yield f"the entry has {name} from {before[name]}{_at(guards[0].place)}, and made anew it is from {source}"
        for inner in [one for one in missing if one == source or one.startswith((f"{source}.", f"{source}["))]:
            del missing[inner]


def _telling(missing: Mapping[str, list[GuardRecord]], tensors: bool) -> dict[str, list[GuardRecord]]:
    """Without what only leads to a value; tensors if they are asked for, or there is nothing else: each has a guard."""
    found = {source: [one for one in guards if not _calls(one, _MARKS)] for source, guards in missing.items()}
    plain = {source: guards for source, guards in found.items() if guards and not _is_registry(guards)}
    values = {source: guards for source, guards in plain.items() if not all(_calls(one, _TENSOR) for one in guards)}
    return (plain if tensors else values) or plain or {source: guards for source, guards in found.items() if guards}


def _calls(guard: GuardRecord, name: str) -> bool:
    return guard.expression.partition("(")[0] == name


def _is_registry(guards: Sequence[GuardRecord]) -> bool:
    """Whether all that they ask is whether a dict is one."""
    kinds = _facts(guards, "kind")
    return len(kinds) == len(guards) and all(type(one.value) is str and hasattr(builtins, one.value) for one in kinds)


def _rank(guards: Sequence[GuardRecord], parting: Parting | None) -> tuple[bool, ...]:
    """What is most likely to have changed stands first."""
    value = _value(guards)
    constant = parting is not None and bool(parting.constants) and value == parting.constants[1]
    longer = parting is not None and not parting.constants and _length(guards)
    tensor = parting is None and any(_calls(one, _TENSOR) for one in guards)
    return (not constant, not longer, value is _NOTHING and not tensor, not tensor)


def _facts(guards: Sequence[GuardRecord], name: str) -> list[GuardFact]:
    return [fact for guard in guards for fact in facts_in(guard.expression) if fact.name == name]


def _length(guards: Sequence[GuardRecord]) -> bool:
    """Whether they look at how many items it has."""
    return bool(_facts(guards, "length"))


_NOTHING = object()


def _value(guards: Sequence[GuardRecord]) -> Any:
    """The value that they want, where it is a constant."""
    facts = (fact for guard in guards for fact in facts_in(guard.expression) if fact.name == "value")
    return next((_literal(fact.value) for fact in facts), _NOTHING)


def _literal(text: Any) -> Any:
    try:
        return ast.literal_eval(parse(text, "eval")) if type(text) is str else text
    except (ValueError, SyntaxError):
        return _NOTHING


@dataclass(frozen=True, slots=True)
class Parting:
    """The first operation in which two graphs of one function differ."""

    before: GraphOperation
    now: GraphOperation
    constants: tuple[Any, ...] = ()
    """The number of before and that of now, where the operations differ in that."""

    @property
    def text(self) -> str:
        where = f", at {self.before.place}" if self.before.place else ""
        if self.constants and self.before.place == self.now.place:
            return (
                f"the entry's graph has the constant {self.constants[0]!r}, and made anew {self.constants[1]!r}{where}"
            )
        steps = (self.before, self.now)
        said = [f"{one.operation[1]}{f' at {one.place}' if one.place else ''}" for one in steps]
        return f"the entry's graph has {said[0]}, and made anew {said[1]}"


def parting(before: Sequence[GraphOperation], now: Sequence[GraphOperation]) -> Parting | None:
    """The first difference of two graphs of one function: in an operation, its constants or its line.  None for
    none."""
    for one, other in zip(before, now):
        if one.operation != other.operation or len(one.numbers) != len(other.numbers):
            return Parting(one, other)
        for old, new in zip(one.numbers, other.numbers):
            if type(old) is not type(new) or old != new:
                return Parting(one, other, (old, new))
        if one.place != other.place and one.place and other.place:
            return Parting(one, other)
    return None


def _without_guards(calls: Calls, entry: LiveEntry, own: CallOutcome, untried: bool) -> Iterator[str]:
    """What the code reads and torch guards in no entry; ``untried``: also what cannot be tried."""
    target = calls.target
    if target is None:
        return
    reads = reads_of(compiled_frame(target), SourceTrees())
    guards = [*(guard.record.expression for guard in live_guards(entry)), *guards_of_rests(entry)]
    values = list(unguarded_values(reads, guards))
    for value in [value for value in values if value.kind is WhyUnguarded.STATE][:_NAMED]:
        yield f"no guard of the entry looks at {value.name}{_at(value.place)}: {value.why}"
    found = [value for value in values if value.kind is WhyUnguarded.IDENTITY]
    told = {read.name: read for read in reads if isinstance(read, IdentityRead)}
    answers = [(value, _does_the_same(calls, told[value.name], own)) for value in found]
    confirmed = [value for value, same in answers if same]
    for value in (confirmed or [value for value, same in answers if same is None and untried])[:_NAMED]:
        yield f"no guard of the entry looks at whether {value.name}{_at(value.place)}: {value.why}"
        if confirmed:
            yield "with the other answer there Python does what the entry did"


def _does_the_same(calls: Calls, read: IdentityRead, own: CallOutcome) -> bool | None:
    """Whether Python, with the other answer to a comparison, does what the entry did; None where that cannot be tried.
    A function apart is run: the program's is not touched."""
    target = calls.target
    if target is None or read.begins != target.code.co_firstlineno or read.place.function != target.code.co_name:
        return None
    code = with_contrary_is(target.code, read.place.line)
    if code is None:
        return None
    function = target.function
    other = types.FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    other.__kwdefaults__ = function.__kwdefaults__

    def call(*args: Any, **kwargs: Any) -> Any:
        return other(*target.leading, *args, **dict(target.keywords) | kwargs)

    return not calls.apart(calls.as_python(fn=call), own)


def _sources(guard: GuardRecord) -> list[str]:
    tree = tree_of(guard.expression)
    return [] if tree is None else sources_in(tree)


def _at(place: Place | None) -> str:
    return "" if place is None else f" ({place.filename.rpartition('/')[2]}:{place.line})"
