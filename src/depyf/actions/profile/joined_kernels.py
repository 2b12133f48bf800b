"""Kernels of a profile with the lines of the program that they compute.

Input: the runs of kernels in a trace, and a dump of the same program.  Output: ``JoinedKernel``, the longest first, and
the trace with what was found in the ``args`` of each event.  A name that several graphs have is told apart by the
compiled region that the kernel ran in; where that is not known, it is said to be of several.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from depyf.actions.profile.chrome_trace import ChromeTrace, KernelRun
from depyf.run.causes.folding import counted
from depyf.run.files.file_record import FileRecord
from depyf.run.files.writer import write_whole
from depyf.run.installed_files import package_of
from depyf.run.places.place import Place
from depyf.safety.escape import cut, printable
from depyf.views.report.dump_view import DumpView
from depyf.views.report.links.chain_links import chains_of

_LONGEST = 60
_LINES = 3


@dataclass(frozen=True, slots=True)
class JoinedKernel:
    """A kernel of one graph, or one that the dump does not have."""

    name: str
    compile_id: str
    file: str
    """Of the dump; "" where it has none of this name."""
    lines: tuple[Place, ...] = ()
    """The lines of the program that it computes, in the order in which they run."""
    calls: int = 0
    microseconds: float = 0.0
    others: int = 0
    """How many other graphs have a kernel of this name, where the trace does not say which one ran."""


Joined = tuple[KernelRun, JoinedKernel]


def joined(runs: Iterable[KernelRun], dump: Path) -> tuple[tuple[JoinedKernel, ...], list[Joined]]:
    """The kernels, the longest first, and each run with its kernel.  DumpError where there is no dump."""
    view = DumpView(dump)
    lines = _lines_of(view)
    named: dict[str, list[FileRecord]] = {}
    for one in view.files:
        if one.kind == "kernel_source" and one.kernel:
            named.setdefault(one.kernel, []).append(one)
    found: dict[tuple[str, str], JoinedKernel] = {}
    of_run: list[tuple[KernelRun, tuple[str, str]]] = []
    for run in runs:
        candidates = named.get(run.name, [])
        own = [one for one in candidates if one.compile_id == run.compile_id] or candidates
        file = own[0] if own else None
        key = (run.name, file.name if file is not None else run.compile_id)
        known = found.get(key)
        if known is None:
            known = JoinedKernel(
                run.name,
                (file.compile_id or "") if file is not None else run.compile_id,
                file.name if file is not None else "",
                lines.get(file.name, ()) if file is not None else (),
                others=len(own) - 1 if len(own) > 1 else 0,
            )
        found[key] = replace(known, calls=known.calls + 1, microseconds=known.microseconds + run.microseconds)
        of_run.append((run, key))
    ordered = sorted(found.values(), key=lambda kernel: (-kernel.microseconds, kernel.name, kernel.file))
    return tuple(ordered), [(run, found[key]) for run, key in of_run]


def _lines_of(view: DumpView) -> dict[str, tuple[Place, ...]]:
    """File of a kernel -> the lines of the program whose operations it computes: of each the innermost line that is
    not torch's."""
    found: dict[str, tuple[Place, ...]] = {}
    for chain in chains_of(view):
        stacks = chain.operations.stacks
        for pane in chain.panes:
            if pane.kind == "kernel":
                numbers = sorted(frozenset[int]().union(*pane.direct.values(), *pane.around.values()))
                places = dict.fromkeys(_own(stacks[number]) for number in numbers if stacks[number])
                found[pane.file] = tuple(Place(f, n, "", view.line(Place(f, n))) for f, n in places)
    return found


def _own(stack: Sequence[tuple[str, int]]) -> tuple[str, int]:
    return next((place for place in reversed(stack) if package_of(place[0]) != "torch"), stack[-1])


def write_joined(trace: ChromeTrace, runs: Sequence[Joined], out: Path) -> None:
    """The trace with ``depyf ...`` in the ``args`` of each kernel that the dump has."""
    for run, kernel in runs:
        if not kernel.file:
            continue
        told = run.event.get("args")
        run.event["args"] = {
            **(told if isinstance(told, dict) else {}),
            "depyf compile id": kernel.compile_id,
            "depyf file": kernel.file,
            "depyf lines": [f"{line.filename}:{line.line}: {line.text}" for line in kernel.lines],
        }
    write_whole(str(out), json.dumps(trace.document))


def table_of(kernels: Sequence[JoinedKernel], most: int = 30) -> list[str]:
    """A row for each kernel, and what is not joined."""
    whole = sum(kernel.microseconds for kernel in kernels)
    heads = ("kernel", "calls", "time", "share", "graph", "lines")
    rows = [heads, *(_row(kernel, whole) for kernel in kernels[:most])]
    widths = [max(len(row[column]) for row in rows) for column in range(len(heads) - 1)]
    lines = ["  ".join([*(c.ljust(w) for c, w in zip(row, widths)), row[-1]]).rstrip() for row in rows]
    rest = kernels[most:]
    if rest:
        lines.append(f"and {len(rest)} more, {_time(sum(one.microseconds for one in rest))}")
    missing = [kernel for kernel in kernels if not kernel.file]
    if missing:
        spent = sum(kernel.microseconds for kernel in missing)
        lines += [
            "",
            f"{counted(len(missing), 'kernel')}, {_time(spent)} in all, not in the dump: of a library, of eager code, "
            "or of another run.",
        ]
    return lines


def _row(kernel: JoinedKernel, whole: float) -> tuple[str, ...]:
    shown = [
        f"{printable(_base(one.filename))}:{one.line} `{printable(cut(one.text, _LONGEST))}`" for one in kernel.lines
    ]
    line = ", ".join(shown[:_LINES]) + (f" and {len(shown) - _LINES} more" if len(shown) > _LINES else "")
    others = f" (or of {kernel.others} more)" if kernel.others else ""
    return (
        printable(cut(kernel.name, _LONGEST)),
        str(kernel.calls),
        _time(kernel.microseconds),
        f"{100 * kernel.microseconds / whole:.1f} %" if whole else "",
        (kernel.compile_id or "-") + others,
        line,
    )


def _base(file: str) -> str:
    return file.replace("\\", "/").rpartition("/")[2]


def _time(microseconds: float) -> str:
    return f"{microseconds / 1e3:.2f} ms" if microseconds >= 1e3 else f"{microseconds:.1f} us"
