"""Whether Dynamo's code with its graph does what the function does, by terms, for one call.

Dynamo claims: under the guards, the transformed code does what the original does.  Both are evaluated on terms: the
transformed code with its captured graph first, then the original with all that it calls (``evaluator.py``).  Where both
make the same operations on the same tensors in the same order, return the same, and write the same, the claim is
proven: for all values of the tensors, while all other values that were looked at are what they were.

What is assumed besides: functions, classes and modules of the program and of its libraries stay what they are; torch's
fake tensors have the sizes of real ones; tensors are plain (``torch.Tensor``, ``nn.Parameter``).
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from depyf.actions.claims.evaluator import Evaluator
from depyf.actions.claims.graph_terms import call_graph, check_graph, targets_of
from depyf.actions.claims.live_attributes import OWN_HOOKS
from depyf.actions.claims.made_calls import written_beside
from depyf.actions.claims.made_objects import MadeObject
from depyf.actions.claims.object_model import ObjectModel
from depyf.actions.claims.pure_operations import has_no_effect
from depyf.actions.claims.terms import Key, Leaves, NotTriedError, Operation, TermTrace, TraceBeside, key_of
from depyf.run.causes.folding import counted
from depyf.run.global_names import COMPILED_FN
from depyf.run.guards.guard_sources import GuardSources, known_path, spelled_plainly
from depyf.safety.guarded import problem
from depyf.sources.live.pure_access import SCALARS
from depyf.sources.live.unguarded.class_members import is_module

_NAMED = 4


@dataclass(frozen=True, slots=True)
class DynamoClaim:
    """The result of comparing one entry with the Python function, for all calls that its guards accept."""

    proven: bool
    why_not: str = ""
    """Where it is not proven, the first thing in the way: ``a branch on a tensor (m.py:7)``."""
    operations: int = 0
    reads: dict[str, Any] = field(default_factory=dict)
    """What the original looks at besides tensors, in the program's words -> its value."""
    assumed: tuple[str, ...] = ()
    """Those of them that no guard pins: the proof holds while they are what they were."""

    @property
    def status(self) -> str:
        """``PROVEN``, or ``TESTED`` where only one call was compared."""
        return "PROVEN" if self.proven else "TESTED"

    def __str__(self) -> str:
        if not self.proven:
            return f"TESTED on this call; no proof for others: {self.why_not}"
        alike = f"{counted(self.operations, 'operation')} on the same tensors in the same order"
        more = len(self.assumed) - _NAMED
        names = ", ".join(self.assumed[-_NAMED:]) + (f" and {more} more" if more > 0 else "")
        names += (" and " if names else "") + "that no function or class is exchanged"
        return f"PROVEN for all calls that the guards let in: {alike}; assumed besides the guards: {names}"


def dynamo_claim(
    function: types.FunctionType,
    given: Mapping[str, Any],
    transformed: types.CodeType,
    space: dict[str, Any],
    gm: Any,
    guards: Iterable[str] = (),
) -> DynamoClaim:
    """``given``: the parameters of ``function`` and their values in one call that the guards let in.  ``transformed``:
    the code of the entry, and ``space`` its globals.  ``gm``: the one graph that it calls, as its backend got it.
    ``guards``: those of the entry, as Python.  Nothing is called, and nothing is written."""
    try:
        return _claim(function, given, transformed, space, gm, GuardSources(guards))
    except NotTriedError as error:
        return DynamoClaim(False, f"{error} ({_short(error.line)})" if error.line else str(error))
    except RecursionError:
        return DynamoClaim(False, "calls that are nested too deep")
    except Exception as error:  # what Python says of a step that is not understood is no proof of anything
        return DynamoClaim(False, f"a step that is not understood ({problem(error)})")


def _claim(
    function: types.FunctionType,
    given: Mapping[str, Any],
    transformed: types.CodeType,
    space: dict[str, Any],
    gm: Any,
    guards: GuardSources,
) -> DynamoClaim:
    check_graph(gm)
    graphs = [name for name in transformed.co_names if COMPILED_FN.match(name)]
    if len(graphs) != 1:
        raise NotTriedError(f"{counted(len(graphs), 'graph')} in the code")
    leaves = Leaves()
    made = ObjectModel(TermTrace(), leaves)

    def graph(*args: Any) -> Any:
        return made.own(list(call_graph(gm, args, made.trace)))

    compiled = Evaluator(made, function, lambda name: graph if name == graphs[0] else None)
    compiled.calls.rules += [(graph, graph), *_of_dynamo(made)]
    code = types.FunctionType(transformed, space, function.__name__, function.__defaults__, function.__closure__)
    code.__kwdefaults__ = function.__kwdefaults__
    theirs = compiled.call_transformed(code, *_seen(made, function, given))
    followed = TraceBeside(made.trace)
    own = ObjectModel(followed, leaves)
    original = Evaluator(own, function)
    original.calls.opaque = {id(target): target for target in targets_of(gm)}
    mine = original.call_function(function, *_seen(own, function, given))
    for step in followed.alone:
        if not has_no_effect(step):
            raise NotTriedError(f"Python calls {step.name} at {_short(step.line)}, and the graph has it not there")
    if followed.missing is not None:
        raise NotTriedError(f"the graph calls {followed.missing.name}, and Python does not there")
    (result, writes), (their_result, their_writes) = _Outcome(own).all(mine), _Outcome(made).all(theirs)
    if result != their_result:
        raise NotTriedError("what is returned is not the same term")
    if writes != their_writes:
        raise NotTriedError("what is written to objects of the program is not shown to be the same")
    return DynamoClaim(
        True, "", len(made.trace.operations), dict(own.reads), tuple(_assumed(own, made, followed.alone, guards))
    )


def _assumed(own: ObjectModel, made: ObjectModel, alone: Iterable[Operation], guards: GuardSources) -> Iterator[str]:
    """What the original looked at and no guard does, each in the program's words."""
    said = []
    for name, value in ((known_path(name), value) for name, value in own.reads.items()):
        if not (guards.pin(name) if type(value) in (*SCALARS, tuple) else guards.look_at(name)):
            said.append(name)
    said += [f"len({name})" for name in map(known_path, own.lengths) if not guards.look_at(name)]
    for owner, name in own.absent:
        if not guards.name(known_path(owner), name):
            said.append(f"{name!r} is not in {spelled_plainly(known_path(owner))}")
    pairs = [(known_path(one), known_path(other)) for one, other in own.alike]
    for leaf, paths in own.of_tensors.items():
        theirs = sorted(map(known_path, made.of_tensors.get(leaf, ())))
        for path in sorted(map(known_path, paths)):
            if theirs and path not in theirs:
                pairs.append((theirs[0], path))
    together = [pair for pair in pairs if pair[0] != pair[1] and not guards.same(*pair)]
    said += [" is ".join(map(spelled_plainly, pair)) for pair in together]
    apart = [(known_path(one), known_path(other)) for one, other in own.apart]
    said += [" is not ".join(map(spelled_plainly, pair)) for pair in apart if not guards.apart(*pair)]
    said += [f"that {one.name} at {_short(one.line)}, which nothing uses, raises no error" for one in alone]
    if own.called_modules and not guards.name_any(OWN_HOOKS):
        said.append(f"the hooks of {counted(len(own.called_modules), 'module')}")
    yield from dict.fromkeys(map(spelled_plainly, said))


def _of_dynamo(model: ObjectModel) -> list[tuple[Any, Callable[..., Any]]]:
    """What the functions of ``torch/_dynamo/utils.py`` do that transformed code calls."""
    import torch._dynamo.utils

    rules: dict[str, Callable[..., Any]] = {
        "record_pregraph_bytecode_enter": lambda: None,
        "record_pregraph_bytecode_exit": lambda manager: None,
        "object_setattr_ignore_descriptor": functools.partial(written_beside, model),
    }
    known = ((getattr(torch._dynamo.utils, name, None), rule) for name, rule in rules.items())
    return [(one, rule) for one, rule in known if one is not None]


def _seen(
    model: ObjectModel, function: types.FunctionType, given: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments as the evaluation takes them."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    args = tuple(model.seen(given[name], f"L[{name!r}]") for name in names)
    if code.co_flags & 0x4:
        rest = code.co_varnames[code.co_argcount + code.co_kwonlyargcount]
        args = (*args, *(model.seen(one, f"L[{rest!r}][{n}]") for n, one in enumerate(given.get(rest, ()))))
    keywords = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    kwargs = {name: model.seen(given[name], f"L[{name!r}]") for name in keywords}
    if code.co_flags & 0x8:
        more = code.co_varnames[code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 0x4)]
        kwargs |= {key: model.seen(one, f"L[{more!r}][{key!r}]") for key, one in given.get(more, {}).items()}
    return args, kwargs


class _Outcome:
    """What a side gives to the program: values with their types, and which containers are one object."""

    def __init__(self, model: ObjectModel) -> None:
        self._model = model
        self._met: dict[int, int] = {}

    def key(self, value: Any) -> Key:
        if self._model.is_live(value) or is_module(value) or isinstance(value, (types.FunctionType, types.ModuleType)):
            return ("object", id(value))
        if type(value) not in (list, dict, tuple, MadeObject):
            return (type(value).__name__, key_of(value))
        if id(value) in self._met:
            return ("again", self._met[id(value)])
        self._met[id(value)] = len(self._met)
        if type(value) is MadeObject:
            held = [value.attributes, *(one for one in (value.items, value.parts) if one is not None)]
            return ("made", id(value.cls), *map(self.key, held))
        if type(value) is dict:
            return ("dict", *((key_of(name), self.key(one)) for name, one in value.items()))
        return (type(value).__name__, *map(self.key, value))

    def all(self, returned: Any) -> tuple[Key, dict[tuple[int, str], Key]]:
        """The result, then the writes in a fixed order."""
        result = self.key(returned)
        return result, {where: self.key(value) for where, (_, value) in sorted(self._model.writes.items(), key=_where)}


def _where(item: tuple[tuple[int, str], Any]) -> tuple[int, str]:
    return item[0]


def _short(line: str) -> str:
    return line.rpartition("/")[2]
