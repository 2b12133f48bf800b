"""Source with its proof: decompile, recompile, verify, and try the next rung where the proof fails."""

from __future__ import annotations

import builtins
import types
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from depyf.decompiler.bytecode.codeunit import CO_COROUTINE, CO_OPTIMIZED, CodeUnit, units
from depyf.decompiler.bytecode.lower import Lowered, lowered_once
from depyf.decompiler.bytecode.variables.spelling import exact
from depyf.decompiler.bytecode.variables.told_apart import told_apart
from depyf.decompiler.driver import decompilation
from depyf.decompiler.driver.decompilation import Decompilation, Key, key_of
from depyf.decompiler.driver.rungs import ladder
from depyf.decompiler.emit import EmitOptions, Emitted, emit_function, emit_module
from depyf.decompiler.emit.comments import comment, source_lines
from depyf.decompiler.emit.complete import definitions, needed
from depyf.decompiler.emit.defaults import NO_DEFAULTS, UNNAMED, Defaults
from depyf.decompiler.emit.expressions.literals import sets_without_order
from depyf.decompiler.emit.grammar import future_features
from depyf.decompiler.generated.resume.loop_peeling import own_line
from depyf.decompiler.ir.expr import Name
from depyf.decompiler.ir.stmt import Body
from depyf.decompiler.options import Options
from depyf.decompiler.structure.exits import forget
from depyf.decompiler.verify import Status, Verdict, verify
from depyf.decompiler.verify.recompiling.interpreters import register
from depyf.decompiler.verify.recompiling.recompile import RecompileError, recompile
from depyf.decompiler.verify.signature import looks_at_locals, misplaced
from depyf.decompiler.verify.whole import Counterpart
from depyf.errors import DecompilationError, DepyfError
from depyf.safety.depth import limited, with_room
from depyf.safety.escape import one_line

if TYPE_CHECKING:
    from depyf.decompiler.bytecode.host.code_lines import CodeLines

MAX_ATTEMPTS = 12
FUTURE_FLAGS = 0x1FE0000
"""Compiler flags of ``from __future__`` features, which the text of an expression cannot import."""
TOP_LEVEL_AWAIT = 0x2000
"""``ast.PyCF_ALLOW_TOP_LEVEL_AWAIT``: what is typed at a prompt may await."""
__all__ = ["Decompiled", "decompile_code", "decompile_unit", "units"]


@dataclass(frozen=True, slots=True)
class Decompiled:
    """Decompiled source and what was proven about it.

    ``verdicts`` has one entry per code object, the outermost first.  ``linemap`` pairs lines of ``source`` with lines
    of the user's file.  ``code`` is the recompiled code object (only where the running interpreter can make one), with
    the signature, closure and constants of the original.  ``needs`` says in words what ``source`` does not define, and
    ``definitions`` are statements for its top that define constants without a literal.  ``fallbacks`` names the code
    objects that plain lifting shows, the last resort.
    """

    source: str
    verdicts: tuple[Verdict, ...]
    linemap: tuple[tuple[int, int | None], ...]
    code: types.CodeType | None = field(default=None, repr=False)
    needs: tuple[str, ...] = ()
    definitions: tuple[str, ...] = ()
    fallbacks: tuple[str, ...] = ()
    emitted: Emitted | None = field(default=None, repr=False)
    """What ``source`` was printed as: with it a caller binds another text as this one was bound."""
    lines: CodeLines | None = field(default=None, repr=False)
    """The file and lines of the original for ``code``; of code that a program wrote alone."""
    note: str = ""
    """How the bytes were read, where nothing in them says of which version they are."""

    def __repr__(self) -> str:
        statuses = Counter(verdict.status.value for verdict in self.verdicts)
        counts = ", ".join(f"{count} {status}" for status, count in sorted(statuses.items()))
        return f"<Decompiled: {len(source_lines(self.source))} lines, {counts}; .source is the text>"

    @property
    def proven(self) -> bool:
        """Whether every code object is proven."""
        return all(verdict.proven for verdict in self.verdicts)

    @property
    def shown(self) -> str:
        """``source`` as a text by itself: it defines its constants, and its first lines say how its bytes were read,
        what is not proven of it, and what it does not define."""
        lines = source_lines(self.source)
        unproven = next((v for v in self.verdicts if not v.proven), None)
        flags = [self.note] if self.note else []
        if unproven is not None:
            flags.append(f"{unproven.status.value}: {unproven.qualname}: {one_line(unproven.reason)}")
        if self.needs:
            flags.append(f"Not complete: {'; '.join(self.needs)}.")
        front = [comment(flag) for flag in flags]
        if not self.definitions:
            return "\n".join([*front, self.source])
        first = sum(line.startswith("from __future__ import ") for line in lines[:2])
        head, rest = lines[:first], lines[first:]
        while rest and not rest[0]:
            del rest[0]
        return "\n".join([*front, *head, *self.definitions, "", "", *rest]) + "\n"

    def compile_at(self, filename: str, line: int, kept: Iterable[types.CodeType] = ()) -> types.CodeType:
        """The recompiled code with ``source`` placed at ``line`` of ``filename``.

        ``kept``: code objects that the text names but does not spell out; they stay in the files they are in.
        """
        from depyf.decompiler.bytecode.host.patch import relocate

        if self.code is None:
            raise DepyfError("this code was not recompiled by the running interpreter")
        return relocate(self.code, filename, self.code.co_firstlineno - 1 + line, kept)


def decompile_code(
    code: types.CodeType, *, name: str | None = None, options: Options = Options(), defaults: Defaults = NO_DEFAULTS
) -> Decompiled:
    """Decompile a live code object, and prove the result.

    ``name`` replaces the function's name in the text; ``defaults`` are shown in its signature, and are not part of the
    proof. Raises DecompilationError where any part of the code has no translation.
    """
    return decompile_unit(
        with_room(lambda: CodeUnit.from_code(code)), options, name=name, strict=True, defaults=defaults
    )


def decompile_unit(
    unit: CodeUnit,
    options: Options = Options(),
    *,
    name: str | None = None,
    strict: bool = False,
    defaults: Defaults = NO_DEFAULTS,
) -> Decompiled:
    """Decompile a code unit and prove the result.

    A module's unit gives the text of a module, any other the text of one function, called ``name`` if given.  A code
    object without a translation has a ``raise NotImplementedError`` in its place and the verdict FAILED; with
    ``strict`` DecompilationError is raised instead, as it is when the outermost code object fails.
    """
    try:
        size = sum(len(inner.code) for inner in units(unit))
        return limited(
            unit.qualname, size, lambda: with_room(lambda: _Attempts(unit, name, options, strict, defaults).run())
        )
    finally:
        forget()


class _Attempts:
    """The attempts at one unit, each on the rungs that the verdicts of the previous one select."""

    def __init__(
        self, unit: CodeUnit, name: str | None, options: Options, strict: bool, defaults: Defaults = NO_DEFAULTS
    ) -> None:
        self.lowered: dict[int, Lowered] = {}
        self.unit = unit = told_apart(unit, self.lowered, generated=options.generated)
        self.defaults = defaults
        self.name = name
        self.options = options
        cells = "name" if unit.live else "closure"
        self.emitting = EmitOptions(
            options.indent,
            options.temp_prefix,
            cells=cells,
            shown=options.shown,
            lower=partial(lowered_once, self.lowered),
        )
        self.strict = strict
        self.loose = list(sets_without_order(unit)) if unit.live is None else []
        self.is_module = not unit.flags & CO_OPTIMIZED and unit.name == "<module>"
        self.ladder = ladder(options.generated, options.promises)
        self.giving_up = False
        self.rungs: dict[Key, int] = {}
        self.reasons: dict[str, str] = {}
        self.undecided: dict[Key, int] = {}
        self.accepted: set[Key] = set()
        self.ending = False
        self.matches: dict[int, Counterpart] | None = None
        self.keys: dict[str, list[Key]] = {}
        for inner in units(unit):
            self.keys.setdefault(inner.qualname, []).append(key_of(inner))
            if not options.idioms:
                self.rungs[key_of(inner)] = next(i for i, one in enumerate(self.ladder) if one.rung.is_total)

    def run(self) -> Decompiled:
        for attempt in count(1):
            # from here on a failing code object goes straight to its last rung: the code around it does not fail, too
            self.giving_up = attempt >= MAX_ATTEMPTS
            if attempt >= 2 * MAX_ATTEMPTS:  # functions of the same name take undecided verdicts from each other
                self.ending = True
                self.undecided.clear()
                self.accepted.clear()
            work = Decompilation(self.rungs, self.ladder, self.reasons, self.lowered)
            try:
                body = work.body(self.unit, strict=self.strict or not self.is_module)
                if self.strict and work.failures:
                    raise next(iter(work.failures.values()))
            except DecompilationError as error:
                raise DecompilationError(self.reasons.get(error.function, error.reason), error.function) from None
            try:
                emitted = self._emit(body)
            except DecompilationError as error:
                if isinstance(error.__cause__, Exception) and decompilation.on_internal_error is not None:
                    decompilation.on_internal_error(self.unit, error.__cause__)
                if not self._escalate_around(error.function, str(error.reason)):
                    raise
                continue
            if not self.options.verify:
                return self._unproven(emitted, "the proof was switched off")
            try:
                made = self._recompile(emitted)
            except RecompileError as refusal:
                if refusal.lineno is None:
                    return self._unproven(emitted, str(refusal))
                culprit = emitted.function_at(refusal.lineno)
                if not self._escalate_around(culprit, f"does not compile: {refusal}"):
                    raise DecompilationError(f"does not compile: {refusal}", culprit) from None
                continue
            emitted, made = self._in_order(body, emitted, made)
            verdicts = self._verdicts(work, emitted, made[0])
            culprits = [v for v in verdicts if not v.proven and v.status is not Status.FAILED and not _inherited(v)]
            if not culprits or not self._escalate_all(culprits):
                wrong = next((v for v in verdicts if v.status is Status.WRONG), None)
                if wrong is not None:
                    if self._escalate_around(wrong.qualname, wrong.reason):
                        continue
                    raise DecompilationError(f"the decompiled text differs: {wrong.reason}", wrong.qualname)
                linemap = tuple((line, own_line(written)) for line, written in emitted.linemap)
                return Decompiled(
                    emitted.text, verdicts, linemap, made[1], *self._completed(emitted), self._fallbacks(), emitted,
                    _lines(made[0], self.matches),
                )  # fmt: skip
        raise AssertionError("unreachable: every attempt returns, raises or uses up a choice")

    def _emit(self, body: Body, ordered: frozenset[int] = frozenset()) -> Emitted:
        options = replace(self.emitting, ordered=ordered) if ordered else self.emitting
        if self.is_module:
            return emit_module(self.unit, body, options)
        return emit_function(self.unit, body, name=self.name, options=options, defaults=self.defaults)

    def _in_order(
        self, body: Body, emitted: Emitted, made: tuple[CodeUnit, types.CodeType | None]
    ) -> tuple[Emitted, tuple[CodeUnit, types.CodeType | None]]:
        """The same text, with statements that put local variables in order where the code may look at them."""
        found = frozenset(id(unit) for unit in misplaced(self.unit, made[0]))
        if not found:
            return emitted, made
        try:
            ordered = self._emit(body, found)
            return ordered, self._recompile(ordered)
        except DepyfError:
            return emitted, made

    def _recompile(self, emitted: Emitted) -> tuple[CodeUnit, types.CodeType | None]:
        unit = self.unit
        if self.options.python:
            register(self.options.python)
        flags = unit.flags & FUTURE_FLAGS if self.is_module and emitted.mode == "eval" else 0
        if self.is_module and unit.flags & CO_COROUTINE:
            flags |= TOP_LEVEL_AWAIT
        made = recompile(
            emitted.text, unit.version, emitted.path, flags=flags, filename=unit.filename, mode=emitted.mode
        )
        code = made.code
        if code is None or unit.live is None or self.is_module:
            return made.unit, code
        from depyf.decompiler.bytecode.host.patch import bind

        try:
            consts = {name: _live(value) for name, value in emitted.consts.items()}
            code = bind(code, consts=consts, cells=emitted.cells, renames=emitted.renames, template=unit.live)
        except DepyfError as error:
            raise RecompileError(str(error)) from None
        return CodeUnit.from_code(code), code

    def _verdicts(self, work: Decompilation, emitted: Emitted, made: CodeUnit) -> tuple[Verdict, ...]:
        bound = made.live is not None and self.unit.live is not None and not self.is_module
        self.matches = {} if bound and self.options.generated else None
        found = verify(
            self.unit,
            made,
            self.options.temp_prefix,
            renames={} if bound else emitted.renames,
            stand_ins={new: old for new, old in emitted.renames.items() if exact(old) is None}
            if self.is_module
            else {},
            bindings={} if bound else emitted.consts,
            builtins=emitted.builtins,
            promises=self.options.promises,
            features=emitted.features,
            imported=emitted.imported,
            loose=self.loose,
            lowered=self.lowered,
            matches=self.matches,
        )
        missing = sorted(
            name
            for name, value in emitted.consts.items()
            if name not in emitted.imported and getattr(builtins, name, None) is not value
        )
        if missing and not bound:
            names = ", ".join(missing)
            reason = f"the text is not complete: no literal gives {names}"
            found = (replace(found[0], status=Status.UNVERIFIED, reason=reason), *found[1:])
        failed = {key[0] for key in work.failures}
        return tuple(
            replace(v, status=Status.FAILED, reason=self._reason(work, v.qualname)) if v.qualname in failed else v
            for v in found
        )

    def _unproven(self, emitted: Emitted, reason: str) -> Decompiled:
        verdicts = tuple(Verdict(u.qualname, Status.UNVERIFIED, reason, u.firstlineno) for u in units(self.unit))
        return Decompiled(
            emitted.text, verdicts, emitted.linemap, None, *self._completed(emitted), self._fallbacks(), emitted
        )

    def _completed(self, emitted: Emitted) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What the text needs, and statements that define a part of it."""
        values = (*self.defaults.positional, *(value for _, value in self.defaults.keyword))
        unnamed = [value.id for value in values if isinstance(value, Name) and value.id.startswith(UNNAMED)]
        defined = {} if self.is_module else definitions(emitted.consts)
        parts = list(units(self.unit))
        found = needed(emitted, defined, parts, dict.fromkeys(unnamed), filter(looks_at_locals, parts))
        if self.is_module:
            if emitted.mode == "eval" and (features := future_features(self.unit.flags)):
                found.append(f"it was compiled under from __future__ import {', '.join(features)}")
            if self.unit.flags & CO_COROUTINE:
                found.append("it awaits outside of a function, for compile() with ast.PyCF_ALLOW_TOP_LEVEL_AWAIT")
        return tuple(found), tuple(defined.values())

    def _fallbacks(self) -> tuple[str, ...]:
        plain = {rung for rung, attempt in enumerate(self.ladder) if attempt.rung.is_total}
        shown = [key for keys in self.keys.values() for key in keys if self.rungs.get(key, 0) in plain]
        return tuple(qualname for qualname, _ in sorted(shown, key=lambda key: (key[1], key[0])))

    def _escalate_all(self, culprits: list[Verdict]) -> bool:
        moved = False
        for verdict in culprits:
            if verdict.status is Status.UNVERIFIED and not self.ending:
                for key in self.keys.get(verdict.qualname, ()):
                    self.undecided.setdefault(key, self.rungs.get(key, 0))
            else:
                for key in self.keys.get(verdict.qualname, ()):
                    self.undecided.pop(key, None)
                    if key in self.accepted:
                        self.accepted.discard(key)
                        self.rungs[key] = len(self.ladder) - 1
            moved = self._escalate(verdict.qualname, verdict.reason) or moved
        return moved

    def _escalate_around(self, qualname: str, reason: str) -> bool:
        """As ``_escalate``; where no rung is left for the code itself, the code around it is given up."""
        while not self._escalate(qualname, reason, undecided=False):
            if qualname in ("", self.unit.qualname):
                return False
            qualname = qualname.rpartition(".")[0].removesuffix(".<locals>") or self.unit.qualname
        return True

    def _escalate(self, qualname: str, reason: str, *, undecided: bool = True) -> bool:
        """Move the code objects of that name to their next rung; false if there is none left.

        ``undecided`` says whether a text without a proof, in which no difference was found, may be accepted in the end.
        """
        self.reasons.setdefault(qualname, reason)
        moved = False
        for key in self.keys.get(qualname, [key_of(self.unit)]):
            if key in self.accepted:
                if not undecided:
                    self.accepted.remove(key)
                    del self.undecided[key]
                    self.rungs[key] = len(self.ladder)
                    moved = True
                continue
            if self.rungs.get(key, 0) < len(self.ladder):
                self.rungs[key] = len(self.ladder) if self.giving_up else self.rungs.get(key, 0) + 1
                moved = True
            if undecided and self.rungs[key] == len(self.ladder) and key in self.undecided:
                # nothing is proven, but here no difference was found either
                self.rungs[key] = self.undecided[key]
                self.accepted.add(key)
                moved = True
        return moved

    def _reason(self, work: Decompilation, qualname: str) -> str:
        known = self.reasons.get(qualname)
        return known or next(str(error.reason) for key, error in work.failures.items() if key[0] == qualname)


def _lines(unit: CodeUnit, matches: dict[int, Counterpart] | None) -> CodeLines | None:
    """The lines that the live code of ``unit`` has as the counterpart of the original."""
    match = matches.get(id(unit)) if matches else None
    if match is None or unit.live is None or match.original.live is None or unit.live is match.original.live:
        return None
    from depyf.decompiler.bytecode.host.code_lines import borrowed_lines

    nested = ((index, _lines(const, matches)) for index, const in enumerate(unit.consts) if type(const) is CodeUnit)
    return borrowed_lines(
        unit.live, match.original.live, match.offsets, [(index, lines) for index, lines in nested if lines is not None]
    )


def _live(value: object) -> object:
    """A constant as the running interpreter holds it."""
    if isinstance(value, CodeUnit):
        if value.live is None:
            raise DepyfError(f"the code object {value.name} is not of this interpreter")
        return value.live
    return value


def _inherited(verdict: Verdict) -> bool:
    return verdict.reason.startswith("nested ")
