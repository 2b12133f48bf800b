"""The code in a log of torch: decompiled and proven, where torch's disassembly of it is complete.

Input: a run that was read from a log, and the disassembly of what Dynamo made.  Output: the run with texts for the
rests of functions after a graph break, and for their transformed code.  Where a disassembly does not tell everything,
the reason is in the place of the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.files.printed_code import read_printed
from depyf.decompiler.driver.pipeline import decompile_unit
from depyf.decompiler.emit.comments import comment
from depyf.errors import DepyfError
from depyf.run.global_names import readable_globals, rename, transformed_name
from depyf.run.places.line_remarks import commented, line_changes
from depyf.run.records import CodeRecord, CompileKey, EntryRecord, FunctionRecord, TransformedRecord, VerdictRecord
from depyf.run.run import Run
from depyf.safety.escape import one_line, safe_name
from depyf.sources.live.generated import resume_options, saved_options
from depyf.sources.trace_log.logged_run import NO_BYTECODE

OF_LOG = "it was read from torch's disassembly in a log"


def with_code(run: Run, printed: Mapping[CompileKey, str]) -> Run:
    """``run`` with what its disassemblies tell; ``printed``: those of transformed code."""
    version = _version(run.python_version)
    if version is None:
        return run
    return replace(run, functions=tuple(_function(function, printed, version) for function in run.functions))


def _version(text: str) -> tuple[int, int] | None:
    """The first two numbers; None where it does not begin with such."""
    found = re.match(r"(\d{1,3})\.(\d{1,3})(?!\d)", text)
    return (int(found[1]), int(found[2])) if found is not None else None


def _function(function: FunctionRecord, printed: Mapping[CompileKey, str], version: tuple[int, int]) -> FunctionRecord:
    code, original = function.code, None
    if code.disassembly and not code.source:
        try:
            original = read_printed(code.disassembly, version, code.name, code.filename)
            text = decompile_unit(original, resume_options(), name=safe_name(code.name)).source.rstrip("\n")
        except DepyfError as error:
            text = comment(one_line(f"It cannot be decompiled: {error}"))
        code = replace(code, source=text)
    entries = (
        replace(entry, transformed=_transformed(entry, function.code, original, printed[entry.key], version))
        if entry.key in printed and entry.transformed is not None
        else entry
        for entry in function.entries
    )
    return replace(function, code=code, entries=tuple(entries))


def _transformed(
    entry: EntryRecord, code: CodeRecord, original: CodeUnit | None, printed: str, version: tuple[int, int]
) -> TransformedRecord:
    known = entry.transformed
    assert known is not None
    try:
        unit = read_printed(printed, version, code.name, code.filename, (code.disassembly,))
        renamed = readable_globals(entry.key, unit.names)
        options = replace(saved_options(original, unit), shown=tuple(renamed.items()))
        own = safe_name(code.name)
        found = decompile_unit(unit, options, name=own, strict=True)
    except DepyfError as error:
        return replace(known, reason=one_line(f"{NO_BYTECODE}, and that is not complete: {error}"))
    verdicts = (
        VerdictRecord(
            code.qualname if verdict.qualname == code.name else verdict.qualname,
            verdict.status.value,
            rename(verdict.reason, renamed),
        )
        for verdict in found.verdicts
    )
    text = rename(found.source, {**renamed, own: transformed_name(entry.key, code.name)})
    return replace(
        known,
        source=commented(text, found.linemap, code.filename),
        reason=OF_LOG,
        verdicts=tuple(verdicts),
        lines=line_changes(found.linemap),
    )
