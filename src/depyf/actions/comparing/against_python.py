"""``depyf.compare``: does the compiled call do what Python does?

The call is made as Python, as its captured graphs say, and, of a compiled callable, by the cache entry that would run.
Each time it begins from the same state, and all that it leaves is compared: the result or the error, arguments,
parameters, buffers, attributes, globals and cells that it can reach, random numbers, standard output, gradients.
Where they part, the layer is named, and the cause where a check confirms it.  Afterwards the state is what it was.
"""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from depyf.actions.claims.dynamo_claim import DynamoClaim
from depyf.actions.claims.judged_claim import JudgedClaim
from depyf.actions.comparing.call_outcome import (
    GRADIENT,
    CallOutcome,
    Output,
    compared_parts,
    may_be_rounding,
    no_farther,
    outcome,
    outcomes_apart,
    raised_as,
    without,
)
from depyf.actions.comparing.dynamo_step import dynamo_step
from depyf.actions.comparing.entries.dropped_guards import failing_guards
from depyf.actions.comparing.entries.edited_entries import why_edited
from depyf.actions.comparing.entries.stale_entries import Stale, why_stale
from depyf.errors import DepyfError
from depyf.run.causes.folding import counted
from depyf.safety.guarded import problem
from depyf.sources.live.ahead.filtered_guards import filter_of
from depyf.sources.live.caches.entries import LiveEntry, cache_entries
from depyf.sources.live.caches.own_stance import own_stance
from depyf.sources.live.caches.unentered import unentered
from depyf.sources.live.pure_tensors import is_tensor
from depyf.sources.live.state.images import REPEATED, STRIDES, Apart
from depyf.sources.live.state.iterators import copied_iterator, is_copied
from depyf.sources.live.state.kept_tensors import has_history, keepable, own_copy
from depyf.sources.live.state.printing import compiler_writes_output
from depyf.sources.live.state.reached import OneShot, ReachedState
from depyf.sources.live.target import Target, find_target
from depyf.sources.live.texts_in_force import edits_of


@dataclass(frozen=True, slots=True)
class AgainstPython:
    """What the compiled call does differently from Python."""

    apart: tuple[Apart, ...] = ()
    compared: tuple[str, ...] = ()
    """What was compared, in words."""
    entry: str = ""
    """The compile id of the program's own entry that ran; "" where none did."""
    graphs_only: bool = True
    """Nothing ran but Dynamo's code, with its graphs in eager mode."""
    causes: tuple[str, ...] = ()
    """The layer and the cause, a sentence each."""
    ways: tuple[str, ...] = ()
    """What the program can change, where that is known: each is enough."""
    not_compared: tuple[str, ...] = ()
    """What was not compared, and why: a sentence each."""
    ran: bool = True
    """Whether the call was made as Python and compiled."""
    error: Exception | None = None
    """What both raise."""
    raised_as: str = ""
    """The class that torch raises while it compiles, in place of ``error``; "" where it raises the same class."""
    unsteady: frozenset[str] = frozenset()
    """Values in which two runs as Python differ: they tell nothing of a compiled one."""
    claim: DynamoClaim | None = None
    """Whether Dynamo's code is proven to do what Python does; None where it is not compared, or differs."""

    def __bool__(self) -> bool:
        return self.ran and not self.apart

    @property
    def outcome(self) -> str:
        return "not compared" if not self.ran else "DIFFERENT" if self.apart else "the same"

    @property
    def headline(self) -> str:
        alone = "Dynamo's code, its graphs in eager mode," if self.graphs_only else "compiled"
        what = f"entry {self.entry}" if self.entry else alone
        said = f" ({', '.join(self.compared)})" if self and self.compared else ""
        return f"{what} against Python: {self.outcome}{said}"

    def lines(self) -> list[str]:
        """What differs and why."""
        found = []
        for apart in self.apart[:3]:
            found.append(f"{apart.path} {'differ' if apart.path.endswith((STRIDES, REPEATED)) else 'differs'}")
            found += [f"  Python  : {apart.first}", f"  compiled: {apart.second}"]
            found += [f"  {apart.reason}"] if apart.reason else []
        if len(self.apart) > 3:
            more = len(self.apart) - 3
            found.append(f"{counted(more, 'more value')} {'differs' if more == 1 else 'differ'}")
        found += [] if self.claim is None else [f"Dynamo's code: {self.claim}"]
        ways = [f"{'or' if number else 'change'}: {way}" for number, way in enumerate(self.ways)]
        return [*found, *self.causes, *ways, *(f"not compared: {text}" for text in self.not_compared)]


Looked = Callable[[Any], object]
_NO_ENTRY = "the program's own compiled code, for no cache entry for this call was found"


@dataclass
class Calls:
    """One function and its arguments, to be called in several ways from one state."""

    fn: Callable[..., Any]
    """As the program has it, compiled or not."""
    original: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    rtol: float | None = None
    atol: float | None = None
    asked: Mapping[str, Any] = field(default_factory=dict)
    """How the caller wants ``original`` compiled, as for ``torch.compile``; ``fn`` is that then, for this alone."""
    output: Output = field(default_factory=Output)
    target: Target | None = None
    copied: set[str] = field(default_factory=set)
    """The names of the arguments that each call gets a copy of."""
    entries_anew: tuple[LiveEntry, ...] = ()
    """Of what was compiled apart, before it is forgotten."""
    _state: ReachedState | None = None

    def __post_init__(self) -> None:
        with contextlib.suppress(DepyfError):
            self.target = find_target(self.fn)

    @property
    def state(self) -> ReachedState:
        """The state that the call can reach, read at the first access of this property."""
        if self._state is None:
            self._state = self.kept_now()
        return self._state

    def kept_now(self) -> ReachedState:
        """The state that the call can reach, read now."""
        return ReachedState(self._roots())

    def _roots(self) -> list[tuple[str, Any]]:
        names: dict[str, Any] = {}
        own: list[tuple[str, Any]] = []
        target = self.target
        if target is not None:
            with contextlib.suppress(TypeError, ValueError):
                names = dict(target.bind(self.args, self.kwargs).arguments)
            own = [("self", value) for value in target.leading[:1]] + [("an argument", v) for v in target.leading[1:]]
            own += [("self", target.module)] if target.module is not None else []
            own += [] if type(self.original) is types.FunctionType else [("self", self.original)]  # torch wraps it
            own.append((target.function.__name__, target.function))
        if not names:
            names = {f"args[{n}]": value for n, value in enumerate(self.args)} | self.kwargs
        return [*own, ("self", self.original), *names.items()]

    def one_shot(self) -> OneShot | None:
        """An argument that only one run can use, such as a generator; None for none."""
        given = self._given()
        return next((one for one in self.state.once if id(one.value) in given and not is_copied(one.value)), None)

    def _given(self) -> set[int]:
        from torch.utils import _pytree

        with contextlib.suppress(RecursionError):  # a container that holds itself
            return {id(leaf) for leaf in _pytree.tree_leaves((self.args, self.kwargs))}
        return set()

    def written_outside(self) -> OneShot | None:
        """Something that the call can write to and that others read, such as a file; None for none."""
        return next((one for one in self.state.once if one.writes), None)

    def used_up_elsewhere(self) -> OneShot | None:
        """Something that the call may consume and that is no argument; None for none."""
        given = self._given()
        return next((one for one in self.state.once if one.used_up and id(one.value) not in given), None)

    def as_python(self, looked: Looked | None = None, fn: Callable[..., Any] | None = None) -> CallOutcome:
        """Call the program's function uncompiled, or ``fn`` in its place.  ``looked`` gets the result while it is
        alive."""
        with _stance("force_eager"):
            return self._call(self.original if fn is None else fn, looked)

    def _call(self, fn: Callable[..., Any], looked: Looked | None = None) -> CallOutcome:
        args, kwargs, copies, iterators = _with_own_history(self.args, self.kwargs)
        self.copied |= copies.keys()
        places = {self.state.known.get(original, "an iterator"): made for original, made in iterators.items()}

        def call() -> Any:
            value = fn(*args, **kwargs)
            if looked is not None:
                looked(value)
            return value

        return outcome(self.state, call, self.output if self._may_print() else None, copies, places)

    def _may_print(self) -> bool:
        return self.state.may_print or (self.backend is not None and compiler_writes_output(self.backend))

    @property
    def backend(self) -> Any:
        """The backend of the compiled callable; None for a callable that is not compiled."""
        return self.target.backend if self.target is not None else None

    def as_graphs(
        self, backend: Callable[..., Any], looked: Looked | None = None, then: Callable[[], object] = lambda: None
    ) -> CallOutcome:
        """Compile outside of the program's cache and call: Dynamo's code, with graphs that ``backend`` runs."""
        return self.anew(backend, dynamic=self.asked.get("dynamic", False), looked=looked, then=then)

    def anew(
        self,
        backend: Any,
        dynamic: bool | None = None,
        then: Callable[[], object] = lambda: None,
        looked: Looked | None = None,
    ) -> CallOutcome:
        """Compile outside of the program's cache on ``backend``, and call.  ``then`` is called while the new entries
        exist."""
        import torch

        with unentered(self._globals()), _stance("default"):
            fullgraph = bool(self.asked.get("fullgraph"))
            compiled = torch.compile(self.original, backend=backend, dynamic=dynamic, fullgraph=fullgraph)
            made = self._call(compiled, looked)
            with contextlib.suppress(DepyfError):
                self.entries_anew = cache_entries(find_target(compiled).code)
            try:
                then()
            finally:
                self.entries_anew = ()
        return made

    def _globals(self) -> dict[str, Any] | None:
        return None if self.target is None else self.target.function.__globals__

    def as_asked(self) -> CallOutcome:
        """Compile outside of the program's cache with the arguments given to ``compare``, and call."""
        with unentered(self._globals()), _stance("default"):
            return self._call(self.fn)

    def by_entry(self, entry: LiveEntry) -> CallOutcome:
        """Call the function with the program's own cache entries; what has no entry runs as Python."""
        with _stance("eager_on_recompile"), self._unmoved(entry):
            return self._call(self.fn)

    @contextlib.contextmanager
    def _unmoved(self, entry: LiveEntry) -> Iterator[None]:
        """torch moves the entry that runs to the front: one that is not there runs as the function's code meanwhile."""
        function = self.target.function if self.target is not None else None
        entries = cache_entries(function.__code__) if function is not None else ()
        if function is None or all(one.code is not entry.code for one in entries[1:]):
            yield
            return
        before, function.__code__ = function.__code__, entry.code
        try:
            yield
        finally:
            if function.__code__ is entry.code:
                function.__code__ = before

    def entry(self) -> LiveEntry | None:
        """The cache entry that would run for this call."""
        target = self.target
        if target is None or (target.backend is None and not target.ahead):
            return None
        with contextlib.suppress(Exception):  # arguments that do not fit: Python says so
            names = target.frame_locals(self.args, self.kwargs)
            entries = target.entries
            skipped = entries[0] if entries and _guards_are_skipped() else None
            skipped = entries[0] if target.ahead else skipped  # it raises for this call
            return next((entry for entry in entries if entry.manager.check(names)), skipped)
        return None

    def entries(self) -> tuple[LiveEntry, ...]:
        """The cache entries of the function, the one that ran last first."""
        return () if self.target is None else cache_entries(self.target.function.__code__)

    @property
    def compiles_anew(self) -> bool:
        """Whether the program would compile a call that no entry serves, and here it can be tried apart."""
        import torch

        stance = torch._dynamo.eval_frame._stance.stance
        ahead = self.target is not None and bool(self.target.ahead)
        return self.backend is not None and not ahead and stance == "default"

    def unsteady(self, python: CallOutcome) -> frozenset[str]:
        """The values in which another run as Python differs from ``python``: of clocks, new memory, addresses."""
        return frozenset(apart.path for apart in self.apart(python, self.as_python()))

    def apart(self, first: CallOutcome, second: CallOutcome) -> tuple[Apart, ...]:
        return tuple(outcomes_apart(self.state, first, second, self.rtol, self.atol))


def _with_own_history(args: Any, kwargs: Any) -> tuple[Any, Any, dict[str, Any], dict[int, Any]]:
    """The arguments, with a copy of each tensor that something computed: a write to it would add to its history, and
    autograd lets nobody undo that.  Iterators are copied, too, so that each call has all of their values.

    Besides, the copies of tensors with their names, and those of iterators by ``id`` of the original.
    """
    from torch.utils import _pytree

    try:
        leaves, spec = _pytree.tree_flatten((args, kwargs))
    except RecursionError:  # a container that holds itself
        return args, kwargs, {}, {}
    computed = [n for n, leaf in enumerate(leaves) if is_tensor(leaf) and keepable(leaf) and has_history(leaf)]
    iterators = [n for n, leaf in enumerate(leaves) if is_copied(leaf)]
    if not computed and not iterators:
        return args, kwargs, {}, {}
    given: dict[int, Any] = {}
    again: dict[int, Any] = {}
    for number in iterators:
        given[id(leaves[number])] = leaves[number] = copied_iterator(leaves[number], again)
    made: dict[int, Any] = {}
    for number in computed:
        leaf = leaves[number]
        leaves[number] = made[id(leaf)] = made[id(leaf)] if id(leaf) in made else own_copy(leaf)
    args, kwargs = _pytree.tree_unflatten(leaves, spec)
    return args, kwargs, {f"argument {n + 1}": copied for n, copied in enumerate(made.values())}, given


Rounding = Callable[[], "Mapping[tuple[int, ...], float] | None"]
"""What the rounding in the graphs comes to, as root mean squares by shape; None where one differs by more than that."""


@contextlib.contextmanager
def _stance(name: str) -> Iterator[None]:
    """What torch.compile does in these calls."""
    import torch

    before = torch._dynamo.eval_frame._stance
    if before.stance == "force_eager":  # the program wants nothing compiled
        yield
        return
    with own_stance(name, name != "default" and _guards_are_skipped()):
        yield


def _guards_are_skipped() -> bool:
    """Whether the program's stance lets an entry run without its guards."""
    import torch

    return bool(getattr(torch._dynamo.eval_frame._stance, "skip_guard_eval_unsafe", False))


def against_python(
    calls: Calls, graphs: Callable[..., Any], rounding: Rounding, was_compared: Callable[[Any], bool]
) -> AgainstPython:
    """Compare a compiled call with Python.  ``graphs``: the backend that compares each graph and continues with its
    eager results.  ``rounding``: how far the graphs of both backends are apart.  ``was_compared``: whether the graphs
    were compared on this backend."""
    once = calls.written_outside()
    if once is not None:
        said = f"nothing was run: the call can reach {once.path}, {once.what}, and each run could write to it"
        return AgainstPython(ran=False, not_compared=(said,))
    once = calls.one_shot()
    if once is not None:
        calls.as_graphs(graphs)
        only = f"{once.path} is {once.what}, and only one run can use it"
        return AgainstPython(ran=False, not_compared=(only,))
    once = calls.used_up_elsewhere()
    if once is not None:  # the program goes on with it
        said = f"nothing was run: the call can reach {once.path}, {once.what}, and would use it up for the program"
        return AgainstPython(ran=False, not_compared=(said,))
    python = calls.as_python()
    entry = calls.entry()
    own = calls.by_entry(entry) if entry is not None else calls.as_asked() if calls.compiles_anew else None
    filtered = filter_of(calls.fn) is not None
    judged = JudgedClaim(calls.target, calls.args, calls.kwargs, calls.entries, entry, filtered)
    captured = calls.as_graphs(judged.backend(graphs), then=judged.judge)
    remarks = [f"{path} cannot be put back" for path in calls.state.not_kept[:3]]
    used = [f"{one.path}, {one.what}: each run of the call has moved on in it" for one in calls.state.once if one.moved]
    remarks += used
    if own is None and calls.backend is not None:
        remarks.append(_NO_ENTRY)
    apart = calls.apart(python, captured)
    if apart and used:
        return AgainstPython(ran=False, not_compared=tuple(remarks))
    unsteady = calls.unsteady(python) if apart or (own is not None and calls.apart(python, own)) else frozenset()
    remarks += [f"{path}, in which two runs as Python differ" for path in sorted(unsteady)[:3]]
    apart = without(apart, unsteady)
    if apart and own is not None and not without(calls.apart(python, own), unsteady):
        remarks.append(f"the graphs in eager mode: {apart[0].path} differs there, and the compiled call does as Python")
        apart = ()
    elif apart and python.drew and all(one.path.startswith(GRADIENT) for one in apart):  # checkpoints draw again
        remarks.append("gradients: what runs again in the backward draws other random numbers")
        apart = ()
    if apart:
        step: tuple[str, ...] = ()
        with contextlib.suppress(Exception):  # what differs is said without it
            step = dynamo_step(calls)
        layer = _dynamo_differs(python, captured, bool(step))
        return AgainstPython(apart, causes=(layer, *step), not_compared=tuple(remarks))
    other = raised_as(python.error, captured.error)
    if other:  # an error leaves no entry
        remarks = [text for text in remarks if text is not _NO_ENTRY]
    lost = [one.backward for one in (captured, own) if one is not None and one.backward is not None]
    if python.gradients and lost and lost[0].keeps:
        remarks.append(f"gradients: the backward, which keeps a graph of the program, raises {problem(lost[0].error)}")
    compared = compared_parts(calls.state, python, other, not lost)
    claim = judged.claim if python.error is None else None
    found = AgainstPython(
        compared=compared, not_compared=tuple(remarks), error=python.error, raised_as=other, claim=claim,
        unsteady=unsteady,
    )  # fmt: skip
    if own is None or used:
        return found
    return _of_compiled(calls, entry, python, own, found, lambda: was_compared(calls.backend), rounding)


def _of_compiled(
    calls: Calls,
    entry: LiveEntry | None,
    python: CallOutcome,
    own: CallOutcome,
    found: AgainstPython,
    was_compared: Callable[[], bool],
    rounding: Rounding,
) -> AgainstPython:
    """What the call does by the program's own entry, as it would run in the program; without one, compiled apart as
    the caller of ``compare`` wants it."""
    name = entry.compile_id if entry is not None else ""
    apart = without(calls.apart(python, own), found.unsteady)
    if apart and python.drew:  # the graphs alone were compared
        what = f"entry {name}" if name else "the compiled call"
        said = f"{what}, for it draws other random numbers than Python"
        return replace(found, not_compared=(*found.not_compared, said))
    found = replace(found, entry=name, graphs_only=False)
    if not apart:
        return found
    causes: tuple[str, ...] = ()
    ways: tuple[str, ...] = ()
    may_round = list(apart)
    edits = edits_of(entry.compile_id) if entry is not None else ()
    if edits:
        return replace(found, compared=(), apart=apart, causes=why_edited(name, edits), claim=None, error=None)
    if entry is not None:
        anew, stale = _why_of_entry(calls, entry, python, own, apart)
        may_round += anew
        causes, ways = stale.causes, stale.ways
    in_graphs = None if causes or not was_compared() else rounding()
    if in_graphs is not None and may_be_rounding(may_round, in_graphs):
        return replace(found, compared=(*found.compared, "up to rounding"))
    causes = causes or _backend_differs(was_compared())
    return replace(found, compared=(), apart=apart, causes=causes, ways=ways, claim=None, error=None)


def _dynamo_differs(python: CallOutcome, captured: CallOutcome, in_graphs: bool) -> str:
    if captured.error is not None and python.error is None:
        return "the layer is Dynamo: what it makes of the function raises an error, and Python raises none"
    if in_graphs:
        return "the layer is Dynamo: its graphs differ from Python when eager mode runs them, too"
    return "the layer is Dynamo: its code does not do what Python does, whatever runs its graphs"


def _backend_differs(compared: bool) -> tuple[str, ...]:
    said = ("the layer is the backend: Dynamo's graphs do what Python does when eager mode runs them",)
    return said if compared else (*said, 'backends=("eager", BACKEND) names the first operation that differs')


def _why_of_entry(
    calls: Calls, entry: LiveEntry, python: CallOutcome, own: CallOutcome, of_own: tuple[Apart, ...]
) -> tuple[tuple[Apart, ...], Stale]:
    """Where an entry made anew differs, too, and why the one that ran should not have, if that one does not, or but for
    rounding.  ``of_own``: where the one that ran differs."""
    name = entry.compile_id
    if entry.made.apart and own.error is not None and str(own.error).startswith("GuardManager check failed"):
        layer = f"the layer is the guards: {name} was compiled ahead of time for other calls; depyf.why says which fail"
        return (), Stale((layer,))
    anew = calls.anew(calls.backend or "inductor")
    apart = calls.apart(python, anew)
    if apart and (no_farther(of_own, apart) or not may_be_rounding(apart)):
        return apart, Stale()
    layer = f"the layer is the guards: entry {name} ran, and"
    if _guards_are_skipped():
        failed: tuple[str, ...] = ()
        with contextlib.suppress(Exception):  # the stance is said without it
            failed = failing_guards(calls, entry)
        return (), Stale((f"{layer} the stance skip_guard_eval_unsafe leaves its guards out", *failed))
    stale = why_stale(calls, entry, own)
    said = f"{layer} compiled anew the call does what Python does" + (", up to rounding" if apart else "")
    return (), replace(stale, causes=(said, *stale.causes))
