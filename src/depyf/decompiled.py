"""Source with its proof: decompile, recompile, verify, and try other choices where the proof fails."""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from depyf.bytecode.codeunit import CO_OPTIMIZED, CodeUnit
from depyf.choices import LADDER
from depyf.emit import Emitted, Options, emit_function, emit_module
from depyf.errors import DecompilationError, DepyfError
from depyf.pipeline import Decompilation, Key, deep_recursion, key_of
from depyf.verify import Status, Verdict, verify

MAX_ATTEMPTS = 12
Compile = Callable[[CodeUnit, Emitted, str], "Recompiled"]


@dataclass(frozen=True, slots=True)
class Recompiled:
    """What compiling decompiled text gave: the unit to compare, and the code object where the host made it.

    With ``problem`` set there is no unit: nothing could be proven, and that is why.
    """

    unit: CodeUnit | None
    code: types.CodeType | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Decompiled:
    """Decompiled source and what was proven about it.

    ``verdicts`` has one entry per code object, the outermost first.  ``linemap`` pairs lines of ``source`` with lines
    of the user's file.  ``code`` is the recompiled code object (only where the running interpreter can make one),
    with the signature, closure and constants of the original.
    """

    source: str
    verdicts: tuple[Verdict, ...]
    linemap: tuple[tuple[int, int | None], ...]
    code: types.CodeType | None = field(default=None, repr=False)

    @property
    def proven(self) -> bool:
        """Whether every code object is proven."""
        return all(verdict.proven for verdict in self.verdicts)

    def compile_at(self, filename: str, line: int) -> types.CodeType:
        """The recompiled code with ``source`` placed at ``line`` of ``filename``."""
        from depyf.bytecode.patch import relocate

        if self.code is None:
            raise DepyfError("this code was not recompiled by the running interpreter")
        return relocate(self.code, filename, self.code.co_firstlineno - 1 + line)


def units(unit: CodeUnit) -> Iterator[CodeUnit]:
    """``unit`` and all code nested in it, outer first."""
    yield unit
    for const in unit.consts:
        if isinstance(const, CodeUnit):
            yield from units(const)


def decompile_unit(
    unit: CodeUnit,
    *,
    name: str | None = None,
    options: Options = Options(),
    recompile: Compile | None = None,
    strict: bool = False,
) -> Decompiled:
    """Decompile a code unit and prove the result.

    A module's unit gives the text of a module, any other the text of one function, called ``name`` if given.
    ``recompile`` compiles the text in the unit's own version; by default the running interpreter does.  With
    ``strict`` a code object without a proven translation raises DecompilationError where the difference is known;
    without it a ``raise NotImplementedError`` stands in its place, and its verdict is FAILED.
    """
    with deep_recursion():
        return _Attempts(unit, name, options, recompile or compile_here, strict).run()


class _Attempts:
    def __init__(self, unit: CodeUnit, name: str | None, options: Options, compiler: Compile, strict: bool) -> None:
        self.unit = unit
        self.name = name
        self.options = options
        self.compiler = compiler
        self.strict = strict
        self.rungs: dict[Key, int] = {}
        self.reasons: dict[str, str] = {}
        self.keys: dict[str, list[Key]] = {}
        for inner in units(unit):
            self.keys.setdefault(inner.qualname, []).append(key_of(inner))

    def run(self) -> Decompiled:
        is_module = not self.unit.flags & CO_OPTIMIZED and self.unit.name == "<module>"
        for attempt in range(MAX_ATTEMPTS):
            work = Decompilation(self.rungs)
            body = work.body(self.unit, strict=self.strict or not is_module)
            if self.strict and work.failures:
                raise next(iter(work.failures.values()))
            try:
                if is_module:
                    emitted = emit_module(self.unit, body, self.options)
                else:
                    emitted = emit_function(self.unit, body, name=self.name, options=self.options)
            except DecompilationError as error:
                self._bump(error.function, str(error.reason))
                continue
            try:
                made = self.compiler(self.unit, emitted, emitted.text)
            except SyntaxError as error:
                self._bump(_function_at(emitted.text, error.lineno or 1, self.unit), f"does not compile: {error.msg}")
                continue
            if made.unit is None:
                verdicts = tuple(Verdict(u.qualname, Status.UNVERIFIED, made.problem, u.firstlineno) for u in units(self.unit))
                return Decompiled(emitted.text, verdicts, emitted.linemap, None)
            verdicts = verify(
                self.unit,
                made.unit,
                self.options.temp_prefix,
                renames={new: old for new, old in emitted.renames.items()},
                bindings=emitted.consts,
            )
            failed = {key[0] for key in work.failures}
            verdicts = tuple(
                replace(v, status=Status.FAILED, reason=self._reason(work, v.qualname)) if v.qualname in failed else v
                for v in verdicts
            )
            culprits = [v for v in verdicts if not v.proven and v.status is not Status.FAILED and not _inherited(v)]
            if not culprits or attempt == MAX_ATTEMPTS - 1 or not self._bump_all(culprits):
                return self._finish(emitted, verdicts, made)
        raise DecompilationError("; ".join(self.reasons.values()) or "no attempt compiles", self.unit.qualname)

    def _bump_all(self, culprits: list[Verdict]) -> bool:
        moved = False
        for verdict in culprits:
            moved = self._bump(verdict.qualname, verdict.reason) or moved
        return moved

    def _bump(self, qualname: str, reason: str) -> bool:
        """Send the code objects of that name to their next choice; false if there is none left."""
        self.reasons.setdefault(qualname, reason)
        moved = False
        for key in self.keys.get(qualname, [key_of(self.unit)]):
            if self.rungs.get(key, 0) < len(LADDER):
                self.rungs[key] = self.rungs.get(key, 0) + 1
                moved = True
        return moved

    def _reason(self, work: Decompilation, qualname: str) -> str:
        known = self.reasons.get(qualname)
        return known or next(str(error.reason) for key, error in work.failures.items() if key[0] == qualname)

    def _finish(self, emitted: Emitted, verdicts: tuple[Verdict, ...], made: Recompiled) -> Decompiled:
        wrong = next((v for v in verdicts if v.status is Status.WRONG), None)
        if wrong is not None:
            raise DecompilationError(f"the decompiled text differs: {wrong.reason}", wrong.qualname)
        return Decompiled(emitted.text, verdicts, emitted.linemap, made.code)


def _inherited(verdict: Verdict) -> bool:
    return verdict.reason.startswith("nested ")


_DEFINITION = re.compile(r"(\s*)(?:async def|def|class)\s+(\w+)")


def _function_at(text: str, lineno: int, unit: CodeUnit) -> str:
    """Qualified name of the innermost definition around a line of decompiled text."""
    lines = text.split("\n")
    path: list[str] = []
    indent = 1 << 30
    for index in range(min(lineno, len(lines)) - 1, -1, -1):
        found = _DEFINITION.match(lines[index])
        if found and len(found.group(1)) < indent:
            indent = len(found.group(1))
            path.append(("class " if "class " in found.group(0) else "def ") + found.group(2))
    parts: list[str] = []
    for kind_name in reversed(path):
        kind, name = kind_name.split()
        parts.append(name)
        if kind == "def":
            parts.append("<locals>")
    if parts and parts[-1] == "<locals>":
        parts.pop()
    return ".".join(parts) or unit.qualname


def compile_here(unit: CodeUnit, emitted: Emitted, text: str) -> Recompiled:
    """Compile decompiled text with the running interpreter, if it has the unit's version."""
    import sys

    if unit.version != sys.version_info[:2]:
        version = ".".join(map(str, unit.version))
        return Recompiled(None, problem=f"no Python {version} to recompile with")
    flags = unit.flags & _FUTURE_FLAGS
    module = compile(text, unit.filename, "exec", flags=flags, dont_inherit=True, optimize=0)
    code = module
    for step in emitted.path:
        code = next(c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name == step)
    if emitted.consts or emitted.cells or emitted.renames:
        from depyf.bytecode.patch import bind

        bound = bind(code, consts=emitted.consts, cells=emitted.cells, renames=emitted.renames, template=unit.live)
        return Recompiled(CodeUnit.from_code(bound), bound)
    return Recompiled(CodeUnit.from_code(code), code)


_FUTURE_FLAGS = 0x1000000 | 0x400000 | 0x20000 | 0x40000 | 0x80000 | 0x100000 | 0x800000
