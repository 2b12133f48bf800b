"""The bytecode hook: decompile what Dynamo made, write it down, and run the recompiled text where it is proven.

Input: (code given to Dynamo, code it made).  Output invariant: returns a code object only after its file is on disk
and ``substitute.refuse`` has no objection; returns None, and has written the reason, in every other case.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from depyf.decompiler.bytecode.codeunit import nested_codes
from depyf.decompiler.bytecode.host.code_lines import lines_of, with_lines
from depyf.decompiler.options import Options
from depyf.errors import DepyfError
from depyf.run.addresses import without_addresses
from depyf.run.files.layout import disassembly_file, transformed_file
from depyf.run.files.writer import DumpWriter
from depyf.run.global_names import GRAPH, readable_globals, rename, transformed_name
from depyf.run.made import Made
from depyf.run.places.line_remarks import commented, line_changes
from depyf.run.places.two_places import remember
from depyf.run.records import CodeRecord, CompileKey, TransformedRecord, VerdictRecord
from depyf.safety.escape import cut
from depyf.safety.guarded import Door
from depyf.sources.live.ahead.ahead_frames import AheadWork
from depyf.sources.live.ahead.dumped_code import remember_dumped
from depyf.sources.live.caches.decompilation_cache import AlikeCodes
from depyf.sources.live.generated import generated_options
from depyf.sources.live.pure_access import attribute
from depyf.sources.live.recording import substitute
from depyf.sources.live.recording.capture import Capture
from depyf.sources.live.recording.disassembly import disassembly
from depyf.sources.live.resume import resume_globals
from depyf.sources.live.texts_in_force import EDITED, edited_by
from depyf.views.pages.function_pages import TransformedPage, transformed_page

if TYPE_CHECKING:
    from depyf.decompiler.driver.pipeline import Decompiled


KEPT = {
    Made.AHEAD: "it was compiled ahead of time, and what can be stored of that is Dynamo's bytecode",
    Made.AHEAD_LOADED: "it was loaded as Dynamo's bytecode",
    Made.PRECOMPILED: "it was loaded as Dynamo's bytecode",
    Made.CALL_LOADED: "it was loaded as Dynamo's bytecode",
}
"""Why proven text does not take the place of bytecode."""


class TransformHook:
    """Callable with the signature of Dynamo's bytecode hook."""

    def __init__(
        self,
        capture: Capture,
        writer: DumpWriter,
        log_bytecode: bool,
        on_made: Callable[..., None] | None = None,
    ) -> None:
        """``on_made`` is given what Dynamo made, before anything runs it; ahead of time with its globals, too."""
        self._on_made = on_made
        self._capture = capture
        self._writer = writer
        self._log_bytecode = log_bytecode
        self._alike = AlikeCodes()

    def __call__(self, code: types.CodeType, made: types.CodeType) -> types.CodeType | None:
        place = f"{code.co_name} ({code.co_filename}:{code.co_firstlineno})"
        with Door(f"{place}: its transformed code was not processed", self._capture.note):
            return self._transform(code, made) if self._capture.hears else None
        return None  # the original bytecode runs

    def made_ahead(self, key: CompileKey, work: AheadWork) -> None:
        """Write down what Dynamo made ahead of time: torch keeps, and stores, its own bytecode.  Called when the code
        is there, and when the function is."""
        code, made = work.original, work.code
        if code is None or made is None:
            return
        scope = attribute(attribute(work.function, "fn"), "__globals__")
        if self._on_made is not None and type(scope) is dict:
            with Door("calls that fail are not seen", self._capture.note):
                self._on_made(key, made, scope)
        if self._capture.entry(key).transformed is None:
            self._write_ahead(key, code, made)

    def _write_ahead(self, key: CompileKey, code: types.CodeType, made: types.CodeType) -> None:
        with Door(f"{code.co_name}: its transformed code was not processed", self._capture.note):
            function = self._capture.functions[key.function].code
            work = decompile_made(key, function, code, made, self._alike)
            reason = work.reason or KEPT[self._capture.entry(key).made]
            if self._log_bytecode:
                self._writer.write(disassembly_file(key, function), work.disassembly)
            written = self._writer.write(transformed_file(key, function), work.page(reason).text)
            self._capture.entry(key).transformed = work.record(reason)
            dumped, _ = self._recompiled(code, work, reason) if written and not work.reason else (None, "")
            if dumped is not None:
                remember_dumped(made, dumped)

    def _transform(self, code: types.CodeType, made: types.CodeType) -> types.CodeType | None:
        key = self._capture.begin(code, current_compile_id())
        function = self._capture.functions[key.function].code
        if self._on_made is not None:
            with Door("calls that fail are not seen", self._capture.note):
                self._on_made(key, made)
        work = decompile_made(key, function, code, made, self._alike)
        reason = edited_by(made)
        candidate, reason = (None, reason) if reason else self._candidate(code, work)
        if self._log_bytecode:
            self._writer.write(disassembly_file(key, function), work.disassembly)
        if not self._writer.write(transformed_file(key, function), work.page(reason).text):
            candidate, reason = None, "its file could not be written"
        self._capture.entry(key).transformed = work.record(reason)
        return candidate

    def _candidate(self, code: types.CodeType, work: DecompiledCode) -> tuple[types.CodeType | None, str]:
        """The code object to run instead, or None and why not.

        It has the lines of the program, which the program may look at; ``two_places`` knows those of the file.
        """
        reason = work.reason or substitute.torch_objection(work.made)
        if reason or work.found is None:
            return None, reason or "it could not be decompiled"
        dumped, reason = self._recompiled(code, work, "")
        if dumped is None or work.found.lines is None:
            return None, reason or "its lines in the program are not known"
        kept = nested_codes(work.made)
        candidate = with_lines(dumped, work.found.lines, kept)
        remember(candidate, lines_of(dumped, kept), code)
        return candidate, ""

    def _recompiled(self, code: types.CodeType, work: DecompiledCode, said: str) -> tuple[types.CodeType | None, str]:
        """The code of the text with its lines in the file, or None and why it must not run; ``said``: what the file
        says of why it does not."""
        if work.found is None:
            return None, "it could not be decompiled"
        path = self._writer.path(transformed_file(work.key, work.function))
        recompiled = work.found.compile_at(str(path), work.page(said).first_line, nested_codes(work.made))
        dumped = substitute.with_original_codes(work.made, substitute.like(work.made, recompiled))
        reason = substitute.refuse(code, work.made, dumped) or substitute.refuse_constants(work.made, dumped)
        return (None, reason) if reason else (dumped, "")


@dataclass(frozen=True, slots=True)
class DecompiledCode:
    """Dynamo's code with its decompiled text.  Holds live objects: it lives as long as the call of the hook."""

    key: CompileKey
    function: CodeRecord
    made: types.CodeType
    renamed: dict[str, str]
    text: str
    found: Decompiled | None
    reason: str
    """Why the text may not run; "" where nothing speaks against it so far."""
    _records: dict[str, TransformedRecord] = field(default_factory=dict)
    _pages: dict[str, TransformedPage] = field(default_factory=dict)

    @property
    def disassembly(self) -> str:
        return without_addresses(rename(disassembly(self.made), self.renamed))

    def record(self, reason: str) -> TransformedRecord:
        """The record, given why the text does not run ("" where it does)."""
        known = self._records.get(reason)
        if known is None:
            known = self._records[reason] = self._record(reason)
        return known

    def _record(self, reason: str) -> TransformedRecord:
        found = self.found.verdicts if self.found is not None else ()

        def named(name: str) -> str:  # up to 3.10 the code object has the last part only
            return self.function.qualname if name == self.made.co_name else name

        return TransformedRecord(
            source=self.text,
            substituted=not reason,
            reason=self.stable(reason),
            verdicts=tuple(
                VerdictRecord(named(v.qualname), EDITED, self.stable(reason))
                if reason and reason == edited_by(self.made)
                else VerdictRecord(named(v.qualname), v.status.value, self.stable(v.reason))
                for v in found
            ),
            graphs=tuple(new for new in self.renamed.values() if new.startswith(GRAPH)),
            resumes=tuple(self.renamed.get(name, name) for name in resume_globals(self.made.co_names)),
            needs=tuple(map(self.stable, self._needs())),
            lines=line_changes(self.found.linemap) if self.found is not None else (),
            definitions=self.found.definitions if self.found is not None else (),
        )

    def _needs(self) -> tuple[str, ...]:
        """What the text does not define, and how a text by itself would define the rest."""
        if self.found is None:
            return ()
        return (*self.found.needs, *(f"it begins with {statement}" for statement in self.found.definitions))

    def stable(self, text: str) -> str:
        """``text`` without what differs in every run, and of bounded length."""
        return cut(without_addresses(rename(text, self.renamed)), 500)

    def page(self, reason: str) -> TransformedPage:
        known = self._pages.get(reason)
        if known is None:
            disassembly = "" if self.text else self.disassembly
            known = transformed_page(self.key, self.function, self.record(reason), disassembly)
            self._pages[reason] = known
        return known


def decompile_made(
    key: CompileKey,
    function: CodeRecord,
    code: types.CodeType | None,
    made: types.CodeType,
    alike: AlikeCodes | None = None,
) -> DecompiledCode:
    """Decompile ``made``, Dynamo's code for ``code`` (None if it is gone). Never raises for code that cannot be
    decompiled.  ``alike``: what was decompiled before."""
    renamed = readable_globals(key, made.co_names)
    options = replace(generated_options(code, made), shown=tuple(renamed.items()))
    alike = alike or AlikeCodes()
    found, reason = _decompile(made, transformed_name(key, function.name), options, alike)
    text = "" if found is None else commented(rename(found.source, renamed), found.linemap, function.filename)
    return DecompiledCode(key, function, made, renamed, text, found, reason)


def current_compile_id() -> str:
    """The compile id torch is working on in this thread; "unknown" outside a compilation."""
    from torch._guards import CompileContext

    found = CompileContext.current_compile_id()
    return str(found) if found is not None else "unknown"


def _decompile(made: types.CodeType, name: str, options: Options, alike: AlikeCodes) -> tuple[Decompiled | None, str]:
    from depyf.decompiler.driver.pipeline import decompile_code

    like = alike.key(made, options)
    known = alike.find(like, made, name)
    if known is not None:
        return known, ""
    try:
        found = decompile_code(made, name=name, options=options)
    except DepyfError as error:
        return None, str(error)
    if found.code is None or not found.proven:
        unproven = [verdict for verdict in found.verdicts if not verdict.proven]
        why = "; ".join(f"{verdict.qualname}: {verdict.reason}" for verdict in unproven) or "no proof"
        return found, f"not proven equivalent: {why}"
    alike.keep(like, made, name, found)
    return found, ""
