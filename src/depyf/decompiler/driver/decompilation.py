"""Decompiles a code unit and the code nested in it, each on its current rung of the ladder."""

from __future__ import annotations

from collections.abc import Callable

from depyf.decompiler.bytecode.codeunit import CO_OPTIMIZED, CodeUnit, nested_units
from depyf.decompiler.bytecode.lower import Lowered, lowered_once
from depyf.decompiler.driver.ahead import BUGS, decompile_ahead
from depyf.decompiler.driver.one_pass import Pass
from depyf.decompiler.driver.pass_runner import run_all
from depyf.decompiler.driver.rungs import LADDER, Attempt
from depyf.decompiler.driver.state import State
from depyf.decompiler.ir.expr import Attr, Comp, Const, Func, Generator, Invoke, Name
from depyf.decompiler.ir.stmt import Body, ClassDef, FuncDef, Raise, Return, Stmt
from depyf.errors import BytecodeError, DecompilationError
from depyf.safety.budget import TooMuchWork
from depyf.safety.depth import any_depth_of, no_room, part_of_work

Key = tuple[str, int]


def key_of(unit: CodeUnit) -> Key:
    """The key of a code object within its module."""
    return unit.qualname, unit.firstlineno


on_internal_error: Callable[[CodeUnit, Exception], None] | None = None
"""Called with bugs that the next rung would hide; set by tests and sweeps."""

check_invariants = False
"""Whether the invariants are checked after each pass, on every rung.  The tests turn this on."""


class Decompilation:
    """Decompiles a code unit and the code nested in it.

    ``rungs`` is the index in the ladder of each code object, ``reasons`` why the first attempt
    failed, by qualified name; ``failures`` which have no source at all; ``lowered`` keeps what was lowered, by id, for
    the next attempt and for the proof.
    """

    def __init__(
        self,
        rungs: dict[Key, int] | None = None,
        ladder: tuple[Attempt, ...] = LADDER,
        reasons: dict[str, str] | None = None,
        lowered: dict[int, Lowered] | None = None,
    ) -> None:
        self.ladder = ladder
        self.lowered: dict[int, Lowered] = lowered if lowered is not None else {}
        self.rungs: dict[Key, int] = rungs if rungs is not None else {}
        self.reasons: dict[str, str] = reasons if reasons is not None else {}
        self.failures: dict[Key, DecompilationError] = {}
        self.ready: dict[int, Body] = {}
        """What was decompiled ahead, on the first rung, by the id of its code."""

    def body(self, unit: CodeUnit, expression: bool = False, *, strict: bool = False) -> Body:
        """Statements of ``unit``.  Code without a translation becomes a ``raise``; with ``strict``, DecompilationError
        is raised here.

        ``expression`` says that the source shows the code as an expression, as it does a lambda.
        """
        self._decompile_ahead(unit)
        return self._body(unit, expression, strict=strict)

    def _decompile_ahead(self, outer: CodeUnit) -> None:
        first = self.ladder[0]
        passes = first.rung.for_source.passes

        def begin(unit: CodeUnit) -> State | None:
            on_first = not self.rungs.get(key_of(unit), 0)
            return State(unit, self._nested, first.promises, self._lowered) if on_first else None

        decompile_ahead(outer, passes, begin, self.ready, check=check_invariants, on_bug=on_internal_error)

    def _nested(self, unit: CodeUnit, expression: bool = False) -> Body:
        """Code nested in generated code comes from the user's source: a compiler wrote it."""
        ready = self.ready.pop(id(unit), None)
        if ready is not None and not self.rungs.get(key_of(unit), 0):
            return ready
        return self._body(unit, expression, found=True)

    @any_depth_of(2)
    def _body(self, unit: CodeUnit, expression: bool, *, strict: bool = False, found: bool = False) -> Body:
        key = key_of(unit)
        expression = expression or found and unit.name.startswith("<")
        failure: DecompilationError | None = None
        while self.rungs.get(key, 0) < len(self.ladder):
            attempt = self.ladder[self.rungs.get(key, 0)]
            if attempt.rung.is_total and expression:
                attempt = LADDER[0]  # a lambda or comprehension is an expression or nothing
            rung = attempt.rung.for_source if found else attempt.rung
            state = State(unit, self._nested, attempt.promises, self._lowered)
            try:
                with part_of_work(unit.qualname, len(unit.code)):
                    run_all(rung.passes, [state], _perform)
                return state.body
            except DecompilationError as error:
                failure = failure or error
            except TooMuchWork as spent:
                failure = DecompilationError(str(spent), unit.qualname)
                plain = next(rung for rung, other in enumerate(self.ladder) if other.rung.is_total)
                last = plain if self.rungs.get(key, 0) < plain else len(self.ladder)
                self.rungs[key] = last - 1
            except BytecodeError as unread:
                failure = DecompilationError(str(unread), unit.qualname)
                break
            except RecursionError:
                failure = DecompilationError(no_room(), unit.qualname)
                break
            except BUGS as bug:
                if on_internal_error is not None:
                    on_internal_error(unit, bug)
                text = f"internal error, please report it: {type(bug).__name__}: {bug}"
                failure = failure or DecompilationError(text, unit.qualname)
            self.rungs[key] = self.rungs.get(key, 0) + 1
        reason = self.reasons.setdefault(unit.qualname, failure.reason if failure else "no choice is proven")
        if failure is None or failure.reason != reason:
            failure = DecompilationError(reason, unit.qualname)
        if strict:
            raise failure
        self.failures[key] = failure
        return failure_stub(unit, failure, self._nested)

    def _lowered(self, unit: CodeUnit) -> Lowered:
        return lowered_once(self.lowered, unit)


def _perform(step: Pass, state: State) -> None:
    step.perform(state, check=check_invariants)


def failure_stub(unit: CodeUnit, failure: DecompilationError, nested: Callable[[CodeUnit], Body]) -> Body:
    """Statements in the place of ``unit``, which has no translation; ``nested`` decompiles the code in it.

    They raise where it would have run, after the definitions nested in it, which have separate texts and verdicts.
    """
    names = "global" if unit.flags & CO_OPTIMIZED else "name"
    error = Invoke(Name("NotImplementedError", names), (Const(f"depyf: {failure}"),))
    if unit.name == "<lambda>":
        nothing = Comp("generator", Name("_", "fast"), None, (Generator(Name("_", "fast"), Const(()), ()),))
        return (Return(Invoke(Attr(nothing, "throw"), (error,))),)
    bound = {*unit.cellvars, *unit.freevars}
    found = [inner for inner in nested_units(unit) if _is_defined(inner) and bound.issuperset(inner.freevars)]
    return (*(_definition(unit, inner, nested) for inner in found), Raise(error, None))


def _is_defined(unit: CodeUnit) -> bool:
    """Whether the source has a ``def`` or ``class`` for this code; what the compiler makes for annotations has not, nor
    has the value of a type alias or of a bound, which takes a format (3.14+)."""
    return unit.name.isidentifier() and unit.name != "__annotate__" and unit.params[:1] != (".format",)


def _definition(unit: CodeUnit, inner: CodeUnit, nested: Callable[[CodeUnit], Body]) -> Stmt:
    scope = "name"
    if unit.flags & CO_OPTIMIZED:
        scope = "cell" if inner.name in unit.cellvars or inner.name in unit.freevars else "fast"
    target, func = Name(inner.name, scope), Func(inner, nested(inner))
    return FuncDef(target, func) if inner.flags & CO_OPTIMIZED else ClassDef(target, func, ())
