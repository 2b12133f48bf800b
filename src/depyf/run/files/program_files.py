"""The files of the program that a dump keeps a copy of: those with compiled lines.

Input: the records of a run.  Output: paths, in the order in which torch met them.
"""

from __future__ import annotations

from collections.abc import Iterator

from depyf.run.run import Run

_TORCH = ("/torch/", "\\torch\\")
_INSTALLED = ("site-packages", "dist-packages")


def program_files(run: Run) -> tuple[str, ...]:
    """The source files with a compiled function, a line of a graph, a break or a call that led to a compilation.  Files
    of torch, and names that are no files, are left out."""
    return tuple(path for path in dict.fromkeys(_named(run)) if _is_kept(path))


def _named(run: Run) -> Iterator[str]:
    for function in run.functions:
        yield function.code.filename
        if function.code.decorated is not None:
            yield function.code.decorated.filename
        for entry in function.entries:
            yield from (caller.place.filename for caller in entry.callers)
            for one in entry.breaks:
                yield from (place.filename for place in (one.caller, one.place) if place is not None)
    for graph in run.graphs:
        for _, stack in graph.origins.stacks if graph.origins is not None else ():
            yield from (file for file, _, _ in stack)


def _is_kept(path: str) -> bool:
    """A cell of a notebook is a file, too."""
    if not path or (path.startswith("<") and not path.startswith("<ipython")):
        return False
    return not any(folder + part in path for folder in _INSTALLED for part in _TORCH)
