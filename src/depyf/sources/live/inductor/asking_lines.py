"""The lines of the program that asked for an operation of a lowered graph.

Input: what was heard of the graphs of one compilation, and live nodes of the lowered one.  Output: lines of source: of
the frames that ran an operation the innermost that is not torch's.  A backward operation has the line of the forward
one whose gradient it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from depyf.run.compile_stages import CAPTURED, POST_GRAD
from depyf.run.graphs.node_origins import Frame
from depyf.run.installed_files import package_of
from depyf.run.places.place import Place
from depyf.run.records import GraphRecord
from depyf.safety.source_lines import source_line
from depyf.sources.live.origins.node_reading import stack_of

_LONGEST = 160


class AskingLines:
    """Maps nodes of one lowered graph to the lines of the program."""

    def __init__(self, graphs: Iterable[GraphRecord]) -> None:
        """``graphs``: those reported so far; the last one after Inductor's passes is that of the lowered graph."""
        self._stacks: dict[str, tuple[Frame, ...]] = {}
        self._captured: dict[str, tuple[str, ...]] = {}
        for graph in graphs:
            if graph.origins is not None and graph.stage == CAPTURED:
                self._stacks.update(graph.origins.stacks)
            elif graph.origins is not None and graph.stage == POST_GRAD:
                self._captured = dict(graph.origins.captured)

    def of(self, node: Any) -> Iterator[Place]:
        """The lines that the operation ``node`` comes from, one for each captured operation."""
        names = self._captured.get(str(node.name), ())
        stacks = [self._stacks[name] for name in names if name in self._stacks]
        for stack in stacks or [stack_of(node)]:
            if stack:
                yield code_line(innermost(stack))


def innermost(stack: tuple[Frame, ...]) -> Frame:
    """The innermost frame outside of torch; the innermost of all where there is none."""
    return next((frame for frame in reversed(stack) if package_of(frame[0]) != "torch"), stack[-1])


def code_line(frame: Frame) -> Place:
    """The line of a frame as a place, with its text."""
    file, line, function = frame
    return Place(file, line, function, source_line(file, line)[:_LONGEST])
