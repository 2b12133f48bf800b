"""``depyf.compare``: does the compiled call do what Python does (``against_python.py``), and does each compiled graph
compute the same on two backends, with the same real inputs (``graphs/two_backends.py``)?
"""

from __future__ import annotations

import contextlib
import functools
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

from depyf.actions.comparing.against_python import AgainstPython, Calls, against_python
from depyf.actions.comparing.graphs.compiled_graph import (
    Backend,
)
from depyf.actions.comparing.graphs.graph_finding import Finding, GraphComparison, finding_lines
from depyf.actions.comparing.graphs.two_backends import TwoBackends
from depyf.errors import DepyfError
from depyf.run.causes.folding import counted
from depyf.safety.guarded import problem
from depyf.sources.live.ahead.ahead_functions import ahead_functions
from depyf.sources.live.ahead.one_graph import one_graph_of
from depyf.sources.live.caches.live_run import backend_name
from depyf.sources.live.caches.unentered import uncounted
from depyf.sources.live.notebook_cells import in_cells
from depyf.sources.live.pure_access import attribute, own_attributes
from depyf.sources.live.target import find_target

_MARK = "_is_torch_compile"
"""An attribute of modules (``torch/_dynamo/eval_frame.py``)."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What ``depyf.compare`` found; true where the compiled call does what Python does, and both backends agree on at
    least one graph, or torch raises Python's error while it compiles."""

    backends: tuple[str, str]
    graphs: tuple[GraphComparison, ...]
    python: AgainstPython
    """The call as Python against the call as it is compiled."""

    def __bool__(self) -> bool:
        seen = bool(self.graphs) or bool(self.python.raised_as)
        whole = not self.python.graphs_only  # was compared: a graph that cannot be run apart is part of it
        agree = (graph.finding is None or (whole and graph.finding.difference is None) for graph in self.graphs)
        return bool(self.python) and seen and all(agree)

    @property
    def first(self) -> Finding | None:
        """The first difference, in the order the graphs ran."""
        return next((graph.finding for graph in self.graphs if graph.finding is not None), None)

    @property
    def shows_python(self) -> bool:
        """Whether there is something to say of the call as Python and compiled."""
        return bool(self.graphs or self.python.apart or self.python.raised_as) or not self.python.ran

    def remarks(self) -> list[str]:
        """The lines that say what was compared, or why nothing was."""
        if not self.graphs and (not self.python.ran or self.python.raised_as or self.python.apart):
            return ["no graph was compared"]
        if not self.graphs:
            return ["nothing was compiled in this call, so nothing was compared; depyf.explain says why"]
        return [f"{' against '.join(self.backends)}: {counted(len(self.graphs), 'graph')}, on the same inputs"]

    def outcome(self, graph: GraphComparison) -> str:
        """The outcome of one graph.  It is not "the same" where the whole call differs from Python."""
        return "both backends agree" if graph.finding is None and self.python.apart else graph.outcome

    def __str__(self) -> str:
        lines = [self.python.headline, *(f"  {line}" for line in self.python.lines())] if self.shows_python else []
        lines += self.remarks()
        for graph in self.graphs:
            lines.append(f"{graph.title}: {self.outcome(graph)}")
            if graph.finding is not None:
                lines += ["  " + line for line in finding_lines(graph.finding, *self.backends)]
        return in_cells("\n".join(lines))

    def __repr__(self) -> str:
        different = ["Python"] if self.python.apart else []
        different += [f"graph {graph.number}" for graph in self.graphs if graph.finding is not None]
        found = "the same" if self else f"{', '.join(different)} different" if different else "nothing compared"
        return f"<depyf.compare: {self.remarks()[0]}: {found}; print() shows all of it>"

    def _repr_html_(self) -> str:
        from depyf.actions.comparing.comparison_html import compare_html

        return compare_html(self)


def original_of(fn: Any) -> Any:
    """The callable that the program passed to ``torch.compile``; ``fn`` itself where it is not compiled."""
    if ahead_functions(fn):
        target = find_target(fn)
        return functools.partial(target.function, *target.leading) if target.leading else target.function
    if type(fn) is types.MethodType:
        return types.MethodType(original_of(fn.__func__), fn.__self__)
    return getattr(fn, "_orig_mod", None) or getattr(fn, "_torchdynamo_orig_callable", None) or fn


def _backend(calls: Calls) -> Backend:
    """The backend to compare with eager mode: that of the compiled callable."""
    found = calls.target.backend if calls.target is not None else None
    return "inductor" if found is None or backend_name(found) == "eager" else cast("Backend", found)


def _is_plain(fn: Any, original: Any) -> bool:
    """Whether ``fn`` is what ``original_of`` found in it: nothing has compiled it.  A bound method is made anew."""
    if type(fn) is types.MethodType and type(original) is types.MethodType:
        return fn.__func__ is original.__func__
    return fn is original


def _compiled(fn: Any, original: Any, asked: dict[str, Any]) -> Any:
    """``fn`` as ``torch.compile`` wraps it; nothing is compiled yet."""
    import torch

    if not _is_plain(fn, original):
        raise DepyfError(
            f"depyf.compare({next(iter(asked))}=...): this callable is compiled already, and is compared as it is; "
            "give what was given to torch.compile to have it compiled in another way"
        )
    try:
        return torch.compile(fn, **asked)
    except Exception as error:
        raise DepyfError(f"depyf.compare: torch.compile refuses this: {problem(error)}") from error


@contextlib.contextmanager
def _unmarked(fn: Any) -> Iterator[None]:
    """torch.compile marks the module that it is given; afterwards it has no mark that it had not."""
    own = own_attributes(fn)
    known = set(own or ())
    try:
        yield
    finally:
        if own is not None and _MARK not in known:
            own.pop(_MARK, None)


def compare(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    backends: tuple[Backend, Backend] | None,
    rtol: float | None,
    atol: float | None,
    asked: dict[str, Any],
) -> Comparison:
    """See ``depyf.compare``, which lists the errors.  ``asked``: arguments of ``torch.compile``."""
    if backends is not None and len(backends) != 2:
        raise DepyfError(f"depyf.compare(backends={backends!r}): give two, the reference first")
    if one_graph_of(fn) is not None:
        raise DepyfError(
            "this precompile artefact keeps one graph, and not the function that it was made of: there is nothing to "
            "compare it with here; call both, and give the results to torch.testing.assert_close"
        )
    original = original_of(fn)
    if not asked and _is_plain(fn, original) and type(fn) is not types.BuiltinFunctionType:
        asked = {"backend": "inductor" if backends is None else backends[1]}
    with uncounted(), _unmarked(fn):
        calls = Calls(_compiled(fn, original, asked) if asked else fn, original, args, kwargs, rtol, atol, asked)
        backends = backends or ("eager", _backend(calls))
        run = TwoBackends(backends, rtol, atol, calls.output)
        python = against_python(
            calls,
            run.backend,
            rounding=lambda: None if run.differs else run.rounding,
            was_compared=lambda backend: any(
                one in (backend, attribute(backend, "compiler_fn"), backend_name(backend)) for one in run.backends
            ),
        )
    if python.error is not None and not run.graphs and not python.raised_as:  # most likely it was called in a wrong way
        raise python.error
    if python.error is not None:
        python.error.__traceback__ = None  # it holds frames, and these what the program would free
    names = tuple(b if isinstance(b, str) else backend_name(b) or type(b).__name__ for b in backends)
    graphs = sorted(run.graphs, key=lambda graph: graph.number)
    if python.ran and not python.graphs_only and not python.apart:  # no write of the call shows what shares memory
        graphs = [replace(one, finding=None) if one.finding and one.finding.memory else one for one in graphs]
    return Comparison((names[0], names[1]), tuple(graphs), python)
