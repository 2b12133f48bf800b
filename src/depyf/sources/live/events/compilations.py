"""The compilations torch itself remembers: its ring buffer of compilation metrics (the last 64), as plain records.

This is what can be said after the fact, without having listened: which frames were skipped and why, where graphs broke,
why a function was compiled again.  A field that this torch does not have is empty.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from depyf.sources.reports.callers import RunningFrame, kept_frames


@dataclass(frozen=True, slots=True)
class Compilation:
    """One attempt of Dynamo to compile a frame, from torch's compilation metrics."""

    compile_id: str
    name: str
    filename: str
    line: int
    compiled: bool
    """Whether code came of it; otherwise the frame was skipped and ``failure`` says why."""
    seconds: float | None
    operations: int | None
    breaks: tuple[str, ...]
    recompiled_because: str
    failure: str
    failure_line: int | None
    stack: tuple[RunningFrame, ...] = ()
    """Who called the frame, the outermost first; () where this torch does not keep it, torch 2.13 without the last
    two."""
    failure_kind: str = ""
    """The class of the error that ended it."""
    failure_file: str = ""
    """Of the program, where torch names it; ``failure_line`` is in it."""

    @property
    def frame(self) -> int:
        """The frame number in the compile id: 3 for ``3/1``; -1 where torch numbers it otherwise."""
        number = self.compile_id.partition("/")[0]
        return int(number) if number.isdigit() else -1

    @property
    def first(self) -> bool:
        """Whether it is the first compilation of its function."""
        return self.frame >= 0 and self.compile_id.endswith("/0")

    @property
    def refused(self) -> bool:
        """Whether torch did not start it because of the recompile limit."""
        return not self.name and bool(self.failure_kind) and bool(self.recompiled_because)

    @property
    def made_nothing(self) -> bool:
        """Whether it produced no graph."""
        return bool(self.name) and (self.operations is None or (not self.compiled and bool(self.failure)))

    @property
    def metrics(self) -> dict[str, Any]:
        """The reason of a failure, by the field names of torch's ``compilation_metrics``."""
        return {
            "fail_type": self.failure_kind,
            "fail_reason": self.failure,
            "fail_user_frame_filename": self.failure_file or None,
            "fail_user_frame_lineno": self.failure_line,
        }


def recent_compilations() -> tuple[Compilation, ...]:
    """The compilations that torch remembers, the oldest first; () where this version keeps none."""
    try:
        from torch._dynamo.utils import get_compilation_metrics
    except ImportError:
        return ()
    return tuple(found for found in map(_compilation, get_compilation_metrics()) if found.compile_id)


def since_reset(compilations: Iterable[Compilation]) -> tuple[Compilation, ...]:
    """The compilations after the last ``torch._dynamo.reset()``, which restarts the numbers of functions.  It shows
    where a compile id repeats, or where a first compilation has a smaller number than an earlier one."""
    kept: list[Compilation] = []
    for found in compilations:
        if found.name and any(
            one.name and (one.compile_id == found.compile_id or (found.first and one.frame >= found.frame))
            for one in kept
        ):
            kept.clear()
        kept.append(found)
    return tuple(kept)


def has_forgotten() -> bool:
    """Whether torch may have dropped compilations: it keeps as many as it may."""
    try:
        from torch._dynamo.utils import _compilation_metrics as kept
    except ImportError:
        return False
    return getattr(kept, "maxlen", None) == len(kept)


def of_code(all_of_them: Iterable[Compilation], filename: str, line: int, name: str) -> tuple[Compilation, ...]:
    """The compilations of one code object.  Two functions with one name on one line are not distinguished."""
    return tuple(c for c in all_of_them if (c.filename, c.line, c.name) == (filename, line, name))


_NO_BREAKS = ("autograd.grad consumed grad_fns", "source-less requires_grad_() intermediate")
"""How torch says that it begins again for another reason than a graph break."""


def _is_break(reason: str) -> bool:
    """Whether a reason to begin the analysis again is a graph break, and not one of torch's own: of those without words
    torch keeps the name of the class."""
    return not (reason.startswith("<class '") and "RestartAnalysis" in reason) and not reason.startswith(_NO_BREAKS)


def _compilation(metrics: Any) -> Compilation:
    def get(name: str, default: Any) -> Any:
        value = getattr(metrics, name, None)
        return default if value is None else value

    compile_id = get("compile_id", "")
    if not compile_id and get("co_name", ""):  # torch before 2.7 has only the number of the frame
        compile_id = f"frame {get('frame_key', '?')}"
    return Compilation(
        str(compile_id),
        str(get("co_name", "")),
        str(get("co_filename", "")),
        int(get("co_firstlineno", 0)),
        bool(get("has_guarded_code", True)) and not get("fail_type", ""),
        get("entire_frame_compile_time_s", None),
        get("graph_op_count", None),
        tuple(sorted(filter(_is_break, map(str, get("restart_reasons", ()))))),
        str(get("recompile_reason", "")),
        str(get("fail_reason", "")),
        get("fail_user_frame_lineno", None),
        kept_frames(get("stack_trace", ())),
        str(get("fail_type", "")),
        str(get("fail_user_frame_filename", "")),
    )
