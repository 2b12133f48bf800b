"""One call of the program, and all that it leaves: its result or its error, the state, output, gradients.

Input: the state that the call can reach (``reached.ReachedState``) and the call.  Output: ``CallOutcome``.  Invariant:
afterwards the state is what it was, whatever the call raises.  What the call prints in this thread is kept, not shown.

``print`` looks its stream up in ``sys``, so what one thread prints can be kept only by an object there.  A call that
can reach nothing that prints runs without one.  For the others it is there while the call runs, and gives other
threads the program's stream.  A forked child would need none, but threads of OpenMP and of autograd do not live on
in one.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from depyf.run.causes.folding import counted
from depyf.run.program_calls.checked_calls import NOT_THE_SAME, THE_BACKWARD, THE_CALL
from depyf.safety.guarded import problem
from depyf.sources.live.state.images import (
    ORDER,
    Apart,
    Image,
    Images,
    before_images,
    differences,
    largest_in,
    memory_of,
    state_images,
)
from depyf.sources.live.state.iterators import left_in
from depyf.sources.live.state.reached import ReachedState
from depyf.sources.live.tensors import BackwardError, gradients_of

RESULT = "the result"
GRADIENT = "the gradient of "
_AS_FAR = 8.0
"""How much farther from Python an entry may be than one made anew, of other sizes and so with other kernels."""
_MADE_UP = 1.0
"""The size of the made-up gradients of results."""
_AMPLIFIED = 0.2
"""The share of a tensor that the rounding of two calls may come to, where that of one is a tenth at most
(``reference.py``)."""


@dataclass(slots=True)
class CallOutcome:
    """The result or error of one call, and its effects on state, output and gradients."""

    result: Image | None = None
    error: Exception | None = None
    state: dict[str, Image] = field(default_factory=dict)
    """What it changed of the state: path -> what was there afterwards."""
    output: str = ""
    gradients: dict[str, Image] = field(default_factory=dict)
    backward: BackwardError | None = None
    """What its backward raised, for made-up gradients of the result."""
    places: dict[str, str] = field(default_factory=dict)
    """The name of an iterator that was copied for this call -> what the call left in it, in words."""
    drew: bool = False
    """Whether it drew random numbers."""


class Output:
    """The standard output of this thread during a call."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self._withheld: list[str] | None = None
        self._under: Any = None
        self.texts: list[str] = []

    @contextlib.contextmanager
    def heard(self) -> Iterator[None]:
        self.texts.clear()
        before, self._under = sys.stdout, sys.stdout
        sys.stdout = self
        try:
            yield
        finally:
            if sys.stdout is self:
                sys.stdout = before

    @contextlib.contextmanager
    def withheld(self) -> Iterator[None]:
        """While the block lasts, output of a compiler or of a repeated graph is collected and not shown."""
        before, self._withheld = self._withheld, []
        try:
            yield
        finally:
            self._withheld = before

    def taken(self) -> str:
        """The withheld output since the last call of this method."""
        found = "".join(self._withheld or ())
        (self._withheld or []).clear()
        return found

    def write(self, text: str) -> int:
        if threading.get_ident() != self._thread:
            return int(self._under.write(text))
        (self.texts if self._withheld is None else self._withheld).append(text)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._under, name)


def outcome(
    state: ReachedState,
    call: Callable[[], Any],
    output: Output | None,
    copies: Mapping[str, Any] | None = None,
    iterators: Mapping[str, Any] | None = None,
) -> CallOutcome:
    """Make the call, record what it did, and undo it.  ``output``: None for a call that cannot print.  ``copies``,
    ``iterators``: tensors and iterators that were made for this call."""
    from torch.utils import _pytree

    made = CallOutcome()
    versions = {path: tensor._version for path, tensor in (copies or {}).items()}
    heard = contextlib.nullcontext if output is None else output.heard
    try:
        with heard():
            try:
                value = call()
            except Exception as error:
                made.error = error
        made.output = "" if output is None else "".join(output.texts)
        if made.error is None:
            made.result = Images(state.known, memory_of(state, copies or {})).of(value, RESULT)
        images = Images(state.known)
        made.state = state_images(state, images)
        made.state |= {path: images.of(tensor, path) for path, tensor in (copies or {}).items()}
        made.places = {path: left_in(iterator) for path, iterator in (iterators or {}).items()}
        made.drew = any(record.changed() for record in state.numbers)
        if made.error is None:
            wanted = {tensor.path: tensor.value for tensor in state.tensors if tensor.requires}
            # after a write to one, autograd has it elsewhere in what a graph computes
            wanted |= {path: one for path, one in (copies or {}).items() if one._version == versions[path]}
            with contextlib.suppress(Exception), heard(), _outside_autocast():  # what has no backward has none
                nodes = [tensor.history for tensor in state.tensors if tensor.history is not None]
                known = None if state.not_kept else nodes  # a tensor that is not kept may have a history
                found, made.backward = gradients_of(_pytree.tree_leaves(value), wanted, known)
                made.gradients = {path: _gradient(part) for path, part in found.items()}
    finally:
        state.put_back()
    return made


@contextlib.contextmanager
def _outside_autocast() -> Iterator[None]:
    """A backward runs after the blocks of ``autocast`` have ended, as torch asks programs to do."""
    import torch

    with contextlib.ExitStack() as blocks:
        for device in ("cpu", "cuda"):
            if torch.is_autocast_enabled(device):
                blocks.enter_context(torch.autocast(device, enabled=False))
        yield


def seen(state: ReachedState, result: Any, error: Exception | None) -> CallOutcome:
    """The outcome of a call that is not undone, because the program continues with it."""
    made = CallOutcome(error=error)
    if error is None:
        made.result = Images(state.known, memory_of(state, {})).of(result, RESULT)
    made.state = state_images(state, Images(state.known))
    return made


def _gradient(value: Any) -> Image:
    return Image("opaque", "nothing") if value is None else Image("tensor", value.detach().clone())


def outcomes_apart(
    state: ReachedState, first: CallOutcome, second: CallOutcome, rtol: float | None = None, atol: float | None = None
) -> list[Apart]:
    """Where two calls did not do the same, in the order: error, result, state, output, gradients."""
    if first.error is not None or second.error is not None:
        raised = [_raised(made.error) for made in (first, second)]
        alike = raised_as(first.error, second.error) or _has_addition(first.error, second.error)
        if raised[0] != raised[1] and not alike:
            return [Apart(THE_CALL, raised[0], raised[1], "")]
    found: list[Apart] = []
    if first.result is not None and second.result is not None:
        found += _beside(differences(first.result, second.result, RESULT, rtol, atol), [first.result])
    before = before_images(state, set(first.state) ^ set(second.state))
    nothing = Image("opaque", "nothing")
    written: list[Apart] = []
    for path in (*first.state, *(path for path in second.state if path not in first.state)):
        one, other = (made.state.get(path) or before.get(path, nothing) for made in (first, second))
        written += differences(one, other, path, rtol, atol)
    others = [one.path for one in written if not one.path.endswith(ORDER)]
    written = [  # of a dict with other items that says enough
        one
        for one in written
        if not (one.path.endswith(ORDER) and any(path.startswith(one.path.removesuffix(ORDER)) for path in others))
    ]
    found += _beside(written, first.state.values())
    for path in (path for path in first.places if path in second.places):
        if first.places[path] != second.places[path]:
            found.append(Apart(path, first.places[path], second.places[path], NOT_THE_SAME))
    if first.output != second.output:
        found.append(Apart("standard output", _printed(first.output), _printed(second.output), ""))
    if first.gradients and second.backward is not None and not second.backward.keeps:
        found.append(Apart(THE_BACKWARD, _raised(None), _raised(second.backward.error), ""))
    of_gradients: list[Apart] = []
    for path in first.gradients if second.gradients else ():
        one, other = (made.gradients.get(path, nothing) for made in (first, second))
        if {one.kind, other.kind} == {"tensor", "opaque"}:  # no gradient is one of zeros
            tensor = one if one.kind == "tensor" else other
            if not bool(tensor.value.ne(0).any()):
                continue
        of_gradients += differences(one, other, f"{GRADIENT}{path}", rtol, atol)
    return [*found, *_beside(of_gradients, first.gradients.values(), _MADE_UP)]


def without(apart: tuple[Apart, ...], unsteady: frozenset[str]) -> tuple[Apart, ...]:
    """The differences that are not in what each run as Python has another value for."""
    return tuple(one for one in apart if one.path not in unsteady)


def compared_parts(state: ReachedState, python: CallOutcome, other: str, gradients: bool) -> tuple[str, ...]:
    """What was compared, counted.  ``other``: the class that torch raises in place of Python's error, or "";
    ``gradients``: whether they were."""
    if python.error is not None:
        result = f"both raise {problem(python.error)}" + (f", which torch wraps in {other}" if other else "")
    else:
        result = "result"
    changed = len(python.state)
    said = [result, f"{len(state.known)} objects within reach" + (f", {changed} of them written" if changed else "")]
    said += [counted(len(python.gradients), "gradient")] if python.gradients and gradients else []
    said += ["output"] if python.output else []
    return tuple(said)


def may_be_rounding(apart: Iterable[Apart], in_graphs: Mapping[tuple[int, ...], float] | None = None) -> bool:
    """Whether each difference may be rounding, where the graphs agree but for that.  In a deep network in training mode
    that of gradients comes to some hundredths of them: a normalization over a few values amplifies it.  ``in_graphs``:
    how much the rounding of values of a graph comes to, as root mean squares by shape."""
    known, most = [one.numbers for one in apart], in_graphs or {}
    return all(
        one is not None
        and (
            one.cancelled_out
            or one.rms_apart <= _AMPLIFIED * one.rms
            or one.rms_apart <= _AS_FAR * most.get(one.shape, 0.0)
        )
        for one in known
    )


def no_farther(apart: Iterable[Apart], anew: Iterable[Apart]) -> bool:
    """Whether what an entry does differently from Python is what an entry made anew does, too, or is small for itself:
    else the entry should not have run."""
    known = {one.path: one.numbers.rms_apart for one in anew if one.numbers is not None}
    return all(
        one.rounding
        or (
            one.numbers is not None
            and (one.numbers.cancelled_out or one.numbers.rms_apart <= _AS_FAR * known.get(one.path, 0.0))
        )
        for one in apart
    )


def _beside(found: Iterable[Apart], images: Iterable[Image], given: float = 0.0) -> list[Apart]:
    """``found`` with the size of the numbers in all ``images`` of their kind; ``given``: of what they are computed
    from, which counts where all of them have cancelled out."""
    apart = list(found)
    if all(one.numbers is None for one in apart):
        return apart
    size = max(map(largest_in, images), default=0.0)
    size = given if all(one.numbers is None or size <= one.numbers.tolerance * given for one in apart) else size
    return [one if one.numbers is None else replace(one, numbers=replace(one.numbers, around=size)) for one in apart]


def raised_as(python: Exception | None, compiled: Exception | None) -> str:
    """The class of ``compiled`` where torch raises it in place of ``python``; "" where they are two errors, or one.

    Dynamo tries each operation with fake tensors, and wraps the error of one that fails.  It is the same error if what
    is wrapped has the same type, if what handles that type catches the wrapper, and if both come from the same lines.
    """
    from torch._dynamo.exc import TorchDynamoException

    if python is None or not isinstance(compiled, TorchDynamoException) or not isinstance(compiled, type(python)):
        return ""
    wrapped: BaseException | None = compiled
    while isinstance(wrapped, TorchDynamoException):
        wrapped = wrapped.__cause__ or wrapped.__context__
    stack = getattr(compiled, "real_stack", None) or ()
    lines = iter([(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(python.__traceback__)])
    same_lines = bool(stack) and all((frame.filename, frame.lineno) in lines for frame in stack)  # in this order
    return type(compiled).__name__ if type(wrapped) is type(python) and same_lines else ""


def _has_addition(python: Exception | None, compiled: Exception | None) -> bool:
    """Whether they are one error, to whose text Dynamo has added where the program was (``augment_exc_message`` of
    ``torch/_dynamo/exc.py``, which notes the frames in ``real_stack``)."""
    if type(python) is not type(compiled) or not getattr(compiled, "real_stack", None):
        return False
    return str(compiled).startswith(str(python)) and python is not None and compiled is not None


def _raised(error: Exception | None) -> str:
    return "raises nothing" if error is None else f"raises {type(error).__name__}: {error}"[:300]


def _printed(text: str) -> str:
    return repr(text if len(text) <= 160 else f"{text[:157]}...")
