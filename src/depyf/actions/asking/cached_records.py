"""Records of a function made from torch's cache entries alone, without having listened to the compilation."""

from __future__ import annotations

import linecache
import types
import weakref
from pathlib import Path
from typing import Any

from depyf.errors import DepyfError
from depyf.run.files.layout import full_code_files
from depyf.run.files.writer import write_whole
from depyf.run.places.two_places import lines_in_dump
from depyf.run.records import CompileKey, EntryRecord, FunctionRecord
from depyf.safety.escape import printable
from depyf.sources.live import page_access as live
from depyf.sources.live.caches.entries import LiveEntry, cache_entries, guard_text
from depyf.sources.live.guards.printed_guards import parse_guards
from depyf.sources.live.recording.code_record import code_record
from depyf.sources.live.recording.transform import KEPT, decompile_made
from depyf.sources.live.resume import is_rest, resume_targets
from depyf.sources.live.target import Target, find_target
from depyf.sources.reports.guards.guard_text import CompletedNames
from depyf.sources.reports.program_sources import ProgramSources
from depyf.views.pages.full_code import full_code_page, function_id


def cached_source(fn: Any) -> str:
    """The page for ``fn`` and the resume functions reachable from its entries."""
    root, resumes, _ = cached_records(code_of(fn))
    return full_code_page(root, resumes).text


def code_of(fn: Any) -> types.CodeType:
    """The code object that torch compiles when ``fn`` is called.  DepyfError where there is none."""
    return fn if isinstance(fn, types.CodeType) else find_target(fn).code


def cached_page(target: Target, folder: Path) -> Path:
    """Write the page of ``target`` into ``folder``; its code reaches the live functions.  DepyfError where it cannot be
    written."""
    root, resumes, codes = cached_records(target.code, target.entries)
    path = folder / full_code_files((root.code,))[0]
    page = full_code_page(root, resumes).text
    try:
        write_whole(str(path), page)
    except OSError as error:
        raise DepyfError(f"cannot write {printable(str(path))}: {error.strerror}") from error
    live.forget(str(folder))
    live.wrote(path, page)
    for record, code in zip((root, *resumes), codes):
        function = target.function if record is root else None
        ahead = weakref.ref(target.ahead[0]) if target.ahead else None
        live.remember(str(folder), function_id(record.function), code, record, function, ahead)
    return path


def cached_records(
    code: types.CodeType,
    entries: tuple[LiveEntry, ...] | None = None,
) -> tuple[FunctionRecord, tuple[FunctionRecord, ...], tuple[types.CodeType, ...]]:
    """The record of ``code``, those of its resume functions, and the code objects of all of them in that order;
    ``entries``: what may run for it, where that is not in torch's cache."""
    root = function_record(code, None, (), entries)
    found = reachable_resumes(code)
    resumes = tuple(function_record(resume, root.function, names) for resume, names in found)
    return root, resumes, (code, *(resume for resume, _ in found))


def function_record(
    code: types.CodeType,
    resume_of: tuple[int, str] | None,
    names: tuple[str, ...],
    entries: tuple[LiveEntry, ...] | None = None,
) -> FunctionRecord:
    """The record of one code object with its cache entries."""
    entries = cache_entries(code) if entries is None else entries
    resolve = CompletedNames([*linecache.cache, code.co_filename], "torch")
    record = (
        code_record(code) if resume_of is not None or is_rest(code) else ProgramSources().with_source(code_record(code))
    )
    keys = [CompileKey(0, entry.compile_id) for entry in entries]
    function = keys[0].function if keys else (0, f"{code.co_name}:{code.co_firstlineno}")
    return FunctionRecord(
        function,
        record,
        tuple(
            EntryRecord(
                key, _transformed(key, code, entry), parse_guards(guard_text(entry), resolve), "live", made=entry.made
            )
            for key, entry in zip(keys, entries)
        ),
        resume_of,
        names,
    )


def _transformed(key: CompileKey, code: types.CodeType, entry: LiveEntry) -> Any:
    work = decompile_made(key, code_record(code), code, entry.code)
    ran = lines_in_dump(entry.code) is not None or entry.code.co_filename.endswith(f"{key.slug}_for_{code.co_name}.py")
    reason = KEPT.get(entry.made, "it was compiled without depyf.prepare_debug")
    return work.record("" if ran else reason)


def reachable_resumes(code: types.CodeType) -> list[tuple[types.CodeType, tuple[str, ...]]]:
    """Every resume function that the entries of ``code`` lead to, with the globals that name it."""
    found: dict[int, tuple[types.CodeType, dict[str, None]]] = {}
    queue = [code]
    while queue:
        for entry in cache_entries(queue.pop(0)):
            for name, target in resume_targets(entry):
                if id(target) not in found:
                    found[id(target)] = (target, {})
                    queue.append(target)
                found[id(target)][1][name] = None
    return [(target, tuple(names)) for target, names in found.values()]
