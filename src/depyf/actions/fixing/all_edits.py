"""Which advice is an edit with one meaning, and the patches that a run asks for.

Input: the causes of a run, and the program's files.  Output: ``Patch`` records: texts before and after.  Advice that is
not in the table has no single meaning, and stays advice.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from depyf.actions.fixing.call_edits import (
    compile_once,
    contiguous,
    is_causal,
    mark_dynamic,
    mark_unbacked,
    maybe_mark_dynamic,
    no_inference_mode,
    number_as_tensor,
)
from depyf.actions.fixing.edit_case import EditCase
from depyf.actions.fixing.line_edits import branchless, keep_tensor, no_disable, no_graph_break, unused_number
from depyf.actions.fixing.moved_edits import check_before, global_as_argument, read_after, report_after
from depyf.actions.fixing.setting_edits import compile_dynamic, no_duck_shape, no_static, setting
from depyf.actions.fixing.state_edits import tensor_in_module, tensor_learning_rate
from depyf.run.advice.advice import AdviceUse, SwitchKind
from depyf.run.advice.registry import ADVICE
from depyf.run.causes.cause import Cause
from depyf.run.causes.ways_out import WayOut
from depyf.run.run import Run

Texts = Mapping[str, str]
EDITS: Mapping[str, Callable[[EditCase], dict[str, str]]] = {
    "capture-scalars": setting,
    "capture-dynamic-shapes": setting,
    "dynamic-parameters": setting,
    "unspecialised-int": setting,
    "allow-rnn": setting,
    "raise-limit": setting,
    "reorder-output": setting,
    "unequal-sizes": no_duck_shape,
    "compile-dynamic": compile_dynamic,
    "no-static": no_static,
    "mark-dynamic": mark_dynamic,
    "mark-unbacked": mark_unbacked,
    "mark-too": mark_dynamic,
    "maybe-mark-dynamic": maybe_mark_dynamic,
    "compile-once": compile_once,
    "contiguous": contiguous,
    "number-as-tensor": number_as_tensor,
    "tensor-in-module": tensor_in_module,
    "tensor-learning-rate": tensor_learning_rate,
    "unused-number": unused_number,
    "no-graph-break": no_graph_break,
    "no-disable": no_disable,
    "keep-tensor": keep_tensor,
    "branchless": branchless,
    "read-after": read_after,
    "log-after": report_after,
    "write-outside": report_after,
    "store-tensor": report_after,
    "check-outside": check_before,
    "global-as-argument": global_as_argument,
    "is-causal": is_causal,
    "one-inference-mode": no_inference_mode,
    "no-inference-tensors": no_inference_mode,
}
"""Advice -> what makes the edit.

Not in it is ``drop-last``: the samples of the last batch are left out, so results differ, whatever else it does.
"""
_MAKE_TENSORS = frozenset("tensor-in-module tensor-learning-rate read-after".split())
_RETURN_MORE = frozenset("log-after write-outside store-tensor".split())


@dataclass(frozen=True, slots=True)
class Patch:
    """A way out as edits of files."""

    cause: Cause
    way: WayOut
    before: tuple[tuple[str, str], ...]
    after: tuple[tuple[str, str], ...]
    """Path -> text, of the files that are changed."""

    @property
    def makes_tensors(self) -> bool:
        """Whether what was a number may be a tensor without dimensions now."""
        return any(use.id in _MAKE_TENSORS for use in self.way.uses)

    @property
    def returns_more(self) -> bool:
        """Whether compiled functions may return further values now: what is reported after the call."""
        return any(use.id in _RETURN_MORE for use in self.way.uses)

    @property
    def key(self) -> tuple[object, ...]:
        """What two patches share that are the same edit of other lines."""
        place = self.cause.place
        return self.way.uses, place.filename if place is not None else "", place.text if place is not None else ""


def patches(causes: tuple[Cause, ...], run: Run, texts: Texts, main: str) -> Iterator[Patch]:
    """Each way out of each cause that can be made an edit, in the order of the causes, then of the ways."""
    for cause in causes:
        ways = [*cause.ways]
        ways += [WayOut((use,)) for use in cause.advice if not any(way.uses == (use,) for way in ways)]
        for way in ways:
            after = _edited(cause, way.uses, run, texts, main)
            changed = {path: text for path, text in after.items() if text != texts[path]}
            if changed:
                before = tuple((path, texts[path]) for path in changed)
                yield Patch(cause, way, before, tuple(changed.items()))


def _edited(cause: Cause, uses: tuple[AdviceUse, ...], run: Run, texts: Texts, main: str) -> dict[str, str]:
    """The files with all of the advice followed; {} where some of it is no edit here.

    An edit moves lines: of several, each but the last may only stand at the top, or in lines that it does not move.
    """
    current = dict(texts)
    order = sorted(uses, key=lambda use: EDITS.get(use.id) is setting)
    for number, use in enumerate(order):
        make = EDITS.get(use.id)
        if make is None or (number and make not in (setting, compile_dynamic, no_static)):
            return {}
        if make is setting and any(one.id == use.id for one in order[:number]) and _one_option(use):
            continue  # it is set for all of them
        made = make(EditCase(cause, use, run, current, main))
        if not made:
            return {}
        current |= made
    return current


def _one_option(use: AdviceUse) -> bool:
    switch = ADVICE[use.id].switch
    return switch is not None and switch.kind is SwitchKind.CONFIG


def unified(before: tuple[tuple[str, str], ...], after: Mapping[str, str]) -> str:
    """All changes as one patch, for ``patch -p0`` or ``git apply -p0``."""
    lines = []
    for path, text in before:
        name = os.path.relpath(path)
        old, new = text.splitlines(keepends=True), after.get(path, text).splitlines(keepends=True)
        for line in difflib.unified_diff(old, new, name, name):
            lines.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return "".join(lines)
