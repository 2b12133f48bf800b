"""``depyf.why``: which cache entry would run for these arguments, or every guard of each one that fails.

Input: a compiled function and arguments.  Output: a ``Why`` of plain text.  Nothing is compiled, nothing of the user
runs, and torch's caches, statistics and order of guards stay as they are.
"""

from __future__ import annotations

import linecache
import types
from dataclasses import dataclass, replace
from typing import Any

from depyf.actions.asking.differences import FailedGuard, Refusal, nearest_first, refusal_lines
from depyf.actions.asking.inside import InnerAnswer, inner_answers, rest_answers
from depyf.decompiler.bytecode.host.written_names import qualified_name
from depyf.run.advice.for_guards import for_unrolled
from depyf.run.advice.registry import DECLARED, applicable, sentence
from depyf.run.global_names import in_words
from depyf.run.guards.known_kinds import advice, fixed
from depyf.run.guards.served_values import ServedValue, served_values, wanted_values
from depyf.run.made import Made
from depyf.safety.guarded import Door, warn
from depyf.sources.live.ahead.ahead_functions import checks_guards
from depyf.sources.live.ahead.one_graph import OneGraph, one_graph_of
from depyf.sources.live.ahead.precompiled import dispatch_of
from depyf.sources.live.caches.entries import LiveEntry, cache_entries
from depyf.sources.live.caches.inner_functions import InnerFunctions
from depyf.sources.live.caches.live_run import live_run
from depyf.sources.live.caches.loaded_entries import hidden_guards
from depyf.sources.live.events.break_errors import gives_up
from depyf.sources.live.events.compilations import Compilation, of_code, recent_compilations
from depyf.sources.live.events.torch_options import in_force, recompile_limit
from depyf.sources.live.guards.ask import EntryAnswer, ask_entry
from depyf.sources.live.guards.guard_values import GuardStep
from depyf.sources.live.guards.line_callers import LineCallers
from depyf.sources.live.notebook_cells import in_cells
from depyf.sources.live.pure_access import untouched
from depyf.sources.live.require import require_torch
from depyf.sources.live.resume import resume_targets
from depyf.sources.live.target import Target, find_target
from depyf.sources.live.wrapped import call_of, is_module_call
from depyf.sources.reports.graph_breaks import told_later
from depyf.sources.reports.guards.guard_remarks import program_place
from depyf.sources.reports.guards.guard_text import CompletedNames
from depyf.sources.reports.wrapped_calls import WrappedCall


@dataclass(frozen=True, slots=True)
class Why:
    """The answer of ``depyf.why``: which cache entry a call would run.  ``str()`` is text, ``to_json()`` plain data."""

    function: str
    place: str
    runs: str | None
    """The compile id of the entry that would run; None where none fits."""
    refusals: tuple[Refusal, ...]
    """The entries that torch would pass over before it, or all of them; the one with the fewest failing guards
    first."""
    otherwise: str
    """What torch would do where no entry fits."""
    continues_in: tuple[str, ...] = ()
    """The resume functions of the entry that runs: their guards look at values that are not there yet."""

    inside: tuple[InnerAnswer, ...] = ()
    """The functions that such calls have compiled by themselves: after a graph break, or because this one runs as
    Python."""
    made: Made = Made.CALL
    """How what runs was made; of what is called by itself also where it does not run."""
    rests: tuple[InnerAnswer, ...] = ()
    """The rests of the function after its graph breaks, as far as they read arguments that it leaves as they are."""

    served: tuple[ServedValue, ...] = ()
    """What an artefact of ``torch.compiler.precompile`` serves alone, of the arguments for which this call has another
    value."""

    @property
    def outcome(self) -> str:
        if self.runs is None:
            return self.otherwise + self._inside("; inside it")
        if self.made is Made.PRECOMPILED:
            return f"runs as it was captured ({self.runs})"
        if self.made.apart:
            return f"runs as it was compiled ahead of time ({self.runs})"
        loaded = " (loaded, not compiled here)" if self.made.loaded else ""
        if not self.continues_in:
            return f"cache entry {self.runs}{loaded} runs"
        again = {one.function: one.outcome for one in self.rests if one.again}
        known = [f"{in_words(name)} {again[name]}" for name in again]
        others = [name for name in self.continues_in if name not in again]
        known = [f"{', '.join(map(in_words, others))} is dispatched by itself", *known] if others else known
        rest = f"cache entry {self.runs}{loaded} runs until its graph break; then {', '.join(known)}"
        return rest + self._inside("; inside the call")

    def _inside(self, where: str) -> str:
        """What happens to the functions inside, those first that do not run as compiled."""
        found: dict[str, list[str]] = {}
        for inner in sorted(self.inside, key=lambda inner: not inner.again):
            found.setdefault(inner.outcome, []).append(in_words(inner.function))
        said = [
            f"{names[0]} {what}"
            if len(names) == 1
            else f"{', '.join(names[:3])}{' ...' if len(names) > 3 else ''} "
            f"{what.replace('is ', 'are ', 1).replace('runs', 'run', 1)}"
            for what, names in found.items()
        ]
        return f"{where} {', '.join(said)}" if said else ""

    @property
    def compiled_again(self) -> tuple[str, ...]:
        """The inner functions for which no entry fits, given the state before the call."""
        return tuple(inner.function for inner in (*self.rests, *self.inside) if inner.again)

    def __str__(self) -> str:
        lines = [f"{in_words(self.function)} ({self.place}): {self.outcome}"]
        lines += ["  " + line for line in (*refusal_lines(self.refusals), *self.served_lines())]
        rests = [rest for rest in self.rests if rest.again]
        lines += ["  " + line for inner in (*rests, *self.inside) for line in inner.lines()]
        if self.inside and not all(inner.again for inner in self.inside):
            lines.append(
                "  what depends on values that the call computes is asked while it runs: with depyf.watch() as watched"
            )
        return in_cells("\n".join(lines))

    def served_lines(self) -> list[str]:
        """What no other call of the artefact can be given."""
        return [f"the artefact serves {one.said} and no other value" for one in self.served]

    def __repr__(self) -> str:
        return f"<depyf.why of {self.function}: {self.outcome}; print() shows all of it>"

    def _repr_html_(self) -> str:
        from depyf.actions.asking.answers_html import why_html

        return why_html(self)

    def to_json(self) -> dict[str, Any]:
        """Plain data: dictionaries, lists, strings."""
        return {
            "function": self.function,
            "place": self.place,
            "runs": self.runs,
            "made": self.made.value,
            "outcome": self.outcome,
            "refusals": [refusal.to_json() for refusal in self.refusals],
            "inside": [inner.to_json() for inner in self.inside],
            "rests": [rest.to_json() for rest in self.rests],
            "served": [one.to_json() for one in self.served],
        }


def why(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Why:
    """See ``depyf.why``."""
    require_torch()
    graph = one_graph_of(fn)
    if graph is not None:
        return _of_one_graph(graph, args, kwargs)
    target = find_target(fn)
    L = target.frame_locals(args, kwargs)
    code = target.code
    resolve = CompletedNames([*linecache.cache, code.co_filename], "torch")
    entries = target.entries
    runs: str | None = None
    made = Made.AHEAD if target.ahead else Made.CALL
    later: tuple[str, ...] = ()
    rests: tuple[InnerAnswer, ...] = ()
    passed: list[Refusal] = []
    answers: list[tuple[EntryAnswer, LiveEntry]] = []
    for entry in entries:
        if other_backend(entry, target):
            passed.append(Refusal(entry.compile_id, because="it was compiled for another backend"))
            continue
        answer = ask_entry(entry, L, resolve, code)
        if answer.runs or (target.ahead and not checks_guards(target.ahead[-1])):
            runs, made = answer.compile_id, entry.made
            later = tuple(dict.fromkeys(made.co_name for _, made in resume_targets(entry)))
            with Door("what comes after the graph break could not be told", warn):
                rests = rest_answers(entry, code, L, resolve, _refusal)
            break
        answers.append((answer, entry))
    known = in_force() | ({DECLARED} if target.declared else frozenset())
    refusals = nearest_first([*_refusals(answers, known), *passed])
    served: tuple[ServedValue, ...] = ()
    if target.ahead:
        captured = dispatch_of(target.ahead[0]) is not None
        if captured and runs is None:
            with Door("what the artefact serves alone could not be told", warn):
                served = _served(target, [answer for answer, _ in answers])
        refusals = tuple(map(_of_capture if captured else _of_ahead, refusals))
    place = f"{code.co_filename}:{code.co_firstlineno}"
    name = qualified_name(code)
    if is_module_call(code) and "self" in L:
        called = call_of(L["self"])
        name, refusals = called.name, tuple(_of_module(refusal, called) for refusal in refusals)
    inside: tuple[InnerAnswer, ...] = ()
    compilations = recent_compilations()
    if (runs is None or later) and not target.ahead:
        with Door("what is compiled inside the call could not be told", warn):
            inside = inner_answers(target, L, InnerFunctions(compilations), resolve, _refusal)
    otherwise = _otherwise(target, entries, compilations)
    if target.declared and any(_asks_size(step) for answer, _ in answers for step in answer.failing_steps):
        otherwise = "the call raises AssertionError: a size is outside of what dynamic_shapes= declares"
    if not target.ahead and any(manager.check_verbose(L).result for manager in hidden_guards(code)):
        otherwise = "an entry runs that torch has loaded, and whose code it does not show"
    return Why(name, place, runs, refusals, otherwise, later, inside, made, rests, served)


PRECOMPILED = "precompiled"
"""What the one graph of an artefact is called: torch has no compile id for it."""


def _of_one_graph(graph: OneGraph, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Why:
    """The answer for a loaded artefact without guards: its driver's checks, evaluated here."""
    with untouched():
        failed = tuple(graph.refusals(args, kwargs))
    refusals = (Refusal(PRECOMPILED, because="; ".join(failed)),) if failed else ()
    otherwise = "the call raises PrecompileError: it is none for which the graph was made"
    runs = None if failed else PRECOMPILED
    return Why("the artefact", f"one graph, backend {graph.backend}", runs, refusals, otherwise, made=Made.PRECOMPILED)


def _served(target: Target, answers: list[EntryAnswer]) -> tuple[ServedValue, ...]:
    """The values that an artefact serves alone, of the arguments that each of its variants refuses in this call."""
    refused = [
        {name for step in answer.failing_steps for name, _ in wanted_values(step.expression)} for answer in answers
    ]
    found = served_values(live_run([target]).functions[0])
    return tuple(one for one in found if refused and all(one.name in names for names in refused))


def _refusal(compile_id: str, steps: tuple[GuardStep, ...]) -> Refusal:
    """Why an entry does not run, where only these guards were asked."""
    unrolled = _unrolled(list(steps))
    return Refusal(compile_id, tuple(_difference(step, unrolled, in_force()) for step in steps))


def refusals_of(code: types.CodeType, L: dict[str, Any]) -> tuple[Refusal, ...]:
    """The entries of ``code`` that do not fit the locals ``L`` of a call, the nearest first."""
    resolve = CompletedNames([*linecache.cache, code.co_filename], "torch")
    answers = [(ask_entry(entry, L, resolve, code), entry) for entry in cache_entries(code)]
    return nearest_first(_refusals([(answer, entry) for answer, entry in answers if not answer.runs], in_force()))


def _refusals(answers: list[tuple[EntryAnswer, LiveEntry]], options: frozenset[str]) -> list[Refusal]:
    found = []
    fixed = [step for answer, _ in answers for step in answer.failing_steps]
    unrolled = _unrolled(fixed)
    for answer, entry in answers:
        callers = LineCallers(entry)
        differences = tuple(
            replace(_difference(step, unrolled, options), callers=callers.of(program_place(step.place)))
            for step in answer.failing_steps
        )
        because = "" if differences else "its guards were dropped (what it was compiled for is gone)"
        found.append(Refusal(answer.compile_id, differences, because, answer.not_asked))
    return found


def _difference(step: GuardStep, unrolled: set[str], options: frozenset[str]) -> FailedGuard:
    number = fixed(step.differences)
    given = (
        for_unrolled(number[0])
        if number is not None and number[0] in unrolled
        else advice(step.differences, program_place(step.place))
    )
    return FailedGuard(step, sentence(applicable(given, options)))


def _asks_size(step: GuardStep) -> bool:
    """Whether a condition on sizes does not hold: of declared ones, torch makes no other entry then."""
    return any(one.id == "condition" for one in advice(step.differences, program_place(step.place)))


def _of_ahead(refusal: Refusal) -> Refusal:
    """With the advice as it is followed where no call makes torch compile."""
    differences = (
        replace(one, advice=one.advice.replace("before the first call", "before aot_compile"))
        for one in refusal.differences
    )
    return replace(refusal, differences=tuple(differences))


_CAPTURE_TOO = "make this call in the capture, too: an artefact serves what was captured"


def _of_capture(refusal: Refusal) -> Refusal:
    """With the advice for an artefact, to which no call adds anything."""
    return replace(refusal, differences=tuple(replace(one, advice=_CAPTURE_TOO) for one in refusal.differences))


def _of_module(refusal: Refusal, called: WrappedCall) -> Refusal:
    """In terms of the module, where torch's code that calls any module was compiled."""
    differences = (
        replace(
            one,
            step=replace(one.step, differences=called.of_differences(one.step.differences)),
            advice=called.spoken(one.advice),
        )
        for one in refusal.differences
    )
    return replace(refusal, differences=tuple(differences))


def _unrolled(steps: list[GuardStep]) -> set[str]:
    """The numbers and sizes that torch did not make dynamic when they changed: their values are needed."""
    values: dict[str, set[str]] = {}
    for found in (fixed(step.differences) for step in steps):
        if found is not None:
            values.setdefault(found[0], set()).add(found[1])
    return {source for source, wanted in values.items() if len(wanted - {"0", "1"}) > 1}


def other_backend(entry: LiveEntry, target: Target) -> bool:
    """Whether another ``backend=`` compiled ``entry`` than the one of ``target``: torch then does not use it."""
    if target.backend is None or entry.backend is None or entry.backend is target.backend:
        return False
    return bool(entry.backend != target.backend)


def _otherwise(target: Target, entries: tuple[LiveEntry, ...], compilations: tuple[Compilation, ...]) -> str:
    if target.ahead:
        which = "a guard fails" if len(entries) == 1 else "each has a guard that fails"
        if dispatch_of(target.ahead[0]) is not None:
            each = which if len(entries) == 1 else "a guard of each variant fails"
            return f"the call raises PrecompileError: it was precompiled, and {each}"
        return f"the call raises RuntimeError: it was compiled ahead of time, and {which}"
    if not entries:
        code = target.code
        own = of_code(compilations, code.co_filename, code.co_firstlineno, code.co_name)
        if own and own[-1].failure and not own[-1].compiled:
            cause = told_later(own[-1].failure)[0]
            if gives_up(own[-1].failure_kind):
                return f"the call runs as ordinary Python, or raises with fullgraph: {cause}"
            return f"no cache entry: torch tries again to compile it; last time that failed: {cause}"
        return "no cache entry: torch compiles it, unless it was skipped (then it runs as ordinary Python)"
    limit = recompile_limit()
    if limit is not None and len(entries) >= limit:
        return (
            f"no cache entry fits, and there are {len(entries)}, the recompile limit "
            f"(torch._dynamo.config.recompile_limit = {limit}): the call runs as ordinary Python, "
            "or raises with fullgraph"
        )
    return "no cache entry fits: torch compiles another one"
