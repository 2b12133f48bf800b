"""Makes edits of a program, each tried in a copy, and keeps those that help and change nothing else.

Input: a script.  Output: ``Fixes``.  An edit is kept only if torch compiles less, or breaks or gives up less, and
nothing more, if as many compilations are left as predicted, if not each call is compiled anew, and if nothing else
changes (``same_effects.py``).  Where two runs of the program as it is differ, nothing is kept: it cannot be told what
an edit changes.
"""

from __future__ import annotations

import dataclasses
import difflib
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from depyf.actions.doctor.trial import DoctorProgram, Measured, run_once
from depyf.actions.doctor.ways import PlannedWay, WayOutcome, judged
from depyf.actions.fixing.all_edits import Patch, patches, unified
from depyf.actions.fixing.mirror import Mirror, mirrored
from depyf.actions.fixing.same_effects import (
    RanProgram,
    Unsteady,
    effects_until_it_failed,
    other_effect,
    unsteady,
    with_path,
)
from depyf.errors import DepyfError
from depyf.run.installed_files import of_library
from depyf.run.places.place import Place
from depyf.run.store.loading import load_ranks

MOST_EDITS = 12
"""So many edits are tried by default."""
_MOST_TEXT = 1 << 22


@dataclass(frozen=True, slots=True)
class TriedPatch:
    """One edit that was tried on top of the edits kept before."""

    patch: Patch
    before: Measured
    after: Measured
    kept: bool
    why: str = ""
    """Why it was not kept."""
    place: Place | None = None
    """The line of its cause, in the program as it is; None for none."""


@dataclass(frozen=True, slots=True)
class Fixes:
    """The edits that were tried and kept, and the runs before and after them."""

    base: Measured
    last: Measured
    """With all edits that were kept."""
    tried: tuple[TriedPatch, ...] = ()
    before: tuple[tuple[str, str], ...] = ()
    after: Mapping[str, str] = dataclasses.field(default_factory=dict)
    difference: str = ""
    """What two runs of the program as it is differ in."""
    left_out: bool = False
    """More could be tried."""
    not_compared: tuple[str, ...] = ()
    """Numbers in which two runs of the program as it is differ."""

    @property
    def kept(self) -> tuple[TriedPatch, ...]:
        return tuple(one for one in self.tried if one.kept)

    @property
    def diff(self) -> str:
        return unified(self.before, self.after)


def fix_program(
    program: DoctorProgram,
    work: Path,
    *,
    most: int = MOST_EDITS,
    timeout: float | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> Fixes:
    """Edit a copy of the program and run it, edit by edit, and keep what helps.  ``work``: an empty folder; ``tell``
    gets a line before each run.  DepyfError where the script cannot be started, KeyboardInterrupt where a run was
    interrupted."""
    script = Path(os.path.abspath(program.target))
    if program.module or not script.is_file():
        raise DepyfError("--fix is for a script: python FILE")
    root = script.parent
    original: dict[str, str] = {}
    count = 0

    def run(texts: Mapping[str, str], what: str) -> RanProgram:
        nonlocal count
        count += 1
        tell(f"run {count}: {what}")
        place = work / f"run_{count}"
        mirror = mirrored(root, place / "copy" / root.name, {str(script): _text(script), **texts})
        measured = run_once(
            dataclasses.replace(program, target=str(mirror.copy / script.name)), (), place, place / "dump",
            compare=True, shown=False, limit=timeout or limit, printed=place / "printed", measures_guards=False,
        )  # fmt: skip
        if measured.interrupted:
            raise KeyboardInterrupt
        found = None
        if measured.recorded and not measured.not_started:
            found = next(iter(load_ranks(place / "dump").values()))
            found, causes = _moved((found, measured.causes), mirror)
            measured = dataclasses.replace(measured, causes=causes)
        printed = (place / "printed").read_bytes() if (place / "printed").exists() else b""
        shutil.rmtree(place, ignore_errors=True)
        measured = dataclasses.replace(
            measured,
            calls=with_path(measured.calls, str(mirror.copy), str(root)),
            state=with_path(measured.state, str(mirror.copy), str(root)),
            problem=with_path(measured.problem, str(mirror.copy), str(root)),
        )
        return RanProgram(measured, found, printed.replace(os.fsencode(mirror.copy), os.fsencode(root)))

    limit = None
    first = run({}, "the program as it is")
    if first.measured.not_started:
        raise DepyfError(first.measured.problem)
    base = first.measured
    if first.run is None or not base.causes:
        return Fixes(base, base)
    limit = 10 * (base.seconds or 0.0) + 60.0
    again = run({}, "as it is, once more")
    but = unsteady(first, again)
    difference = other_effect(first, again, but=but)
    if difference:
        return Fixes(base, base, difference=difference)
    for function in first.run.functions:
        for path in (function.code.filename, str(script)):
            if path not in original and _is_ours(path, root):
                original[path] = _text(Path(path))
    texts, state = dict(original), first
    tried: list[TriedPatch] = []
    met: set[tuple[object, ...]] = set()
    left_out = False
    while state.run is not None:
        found = next(
            (p for p in patches(state.measured.causes, state.run, texts, str(script)) if p.key not in met), None
        )
        if found is None or len(tried) == most:
            left_out = found is not None
            break
        met.add(found.key)
        changed = {**texts, **dict(found.after)}
        ran = run(_only_changed(original, changed), found.way.text)
        kept = [one.patch for one in tried if one.kept]
        why = _why_not([*kept, found], first, state, ran, but)
        place = line_as_it_is(found.cause.place, original, texts)
        tried.append(TriedPatch(found, state.measured, ran.measured, not why, why, place))
        if not why:
            texts, state = changed, ran
    changed = _only_changed(original, texts)
    return Fixes(
        base, state.measured, tuple(tried), tuple((path, original[path]) for path in changed), changed,
        left_out=left_out, not_compared=but.words,
    )  # fmt: skip


def write(fixes: Fixes) -> list[str]:
    """Write the edits; the paths of the files.  DepyfError, and nothing is written, where one has changed since."""
    for path, text in fixes.before:
        if _text(Path(path)) != text:
            raise DepyfError(f"{path} has changed since: nothing is written")
    for path, text in fixes.after.items():
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
    return list(fixes.after)


def _why_not(edits: Sequence[Patch], first: RanProgram, before: RanProgram, after: RanProgram, but: Unsteady) -> str:
    """Why the last of some edits is not kept; "" where it is.  ``after`` has all of them, ``before`` all but that."""
    way = edits[-1].way
    verdict = judged(PlannedWay((), way.prediction), before.measured, after.measured, deterministic=False)
    if verdict.outcome is not WayOutcome.HELPS:
        return f"{verdict.outcome.value}{f': {verdict.detail}' if verdict.detail else ''}"
    if before.measured.status and not after.measured.status:  # it comes to its end now
        difference = effects_until_it_failed(first, after)
        return f"{WayOutcome.HARMFUL.value}: {difference}" if difference else ""
    if verdict.wrong and way.prediction is not None:
        return f"{after.measured.totals.compilations} compilations are left, predicted were {way.prediction.left}"
    if _each_call_anew(before.measured, after.measured):
        return "what ran as ordinary Python is compiled anew in each call: it would be compiled ever again"
    tensors, more = any(one.makes_tensors for one in edits), any(one.returns_more for one in edits)
    difference = other_effect(first, after, tensors, but, more)
    return f"{WayOutcome.HARMFUL.value}: {difference}" if difference else ""


def _each_call_anew(before: Measured, after: Measured) -> bool:
    """Whether more is compiled than before, and no call finds what an earlier one compiled."""
    calls = sum(map(len, (after.calls or {}).values()))
    return before.totals.compilations < after.totals.compilations >= calls > 2


def line_as_it_is(place: Place | None, original: Mapping[str, str], texts: Mapping[str, str]) -> Place | None:
    """A line of an edited text, as a line of the text without edits."""
    if place is None or original.get(place.filename) == texts.get(place.filename):
        return place
    one, other = (text[place.filename].splitlines() for text in (original, texts))
    for _, first, end, begin, last in difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if begin < place.line <= last:
            line = min(first + place.line - begin, max(end, first + 1))
            return dataclasses.replace(place, line=line)
    return place


def _only_changed(original: Mapping[str, str], texts: Mapping[str, str]) -> dict[str, str]:
    return {path: text for path, text in texts.items() if original.get(path) != text}


def _is_ours(path: str, root: Path) -> bool:
    """Whether it is a source file of the program, which may be edited: below the script's folder, and no library's."""
    file = Path(path)
    try:
        plain = file.is_file() and not file.is_symlink() and file.stat().st_size <= _MOST_TEXT
    except OSError:
        return False
    return plain and file.suffix == ".py" and root in file.parents and not of_library(path)


def _text(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return file.read()
    except (OSError, ValueError) as error:
        raise DepyfError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error


def _moved(value: Any, mirror: Mirror) -> Any:
    """Records with the program's files in the place of the copy's."""
    if isinstance(value, Place):
        return mirror.place(value)
    if isinstance(value, tuple):
        moved = [_moved(one, mirror) for one in value]
        return tuple(moved) if any(a is not b for a, b in zip(moved, value)) else value
    if isinstance(value, str):
        return mirror.original(value) if value.startswith(str(mirror.copy)) else value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changed = {}
        for field in dataclasses.fields(value):
            before = getattr(value, field.name)
            after = _moved(before, mirror)
            if after is not before:
                changed[field.name] = after
        return dataclasses.replace(value, **changed) if changed else value
    return value
