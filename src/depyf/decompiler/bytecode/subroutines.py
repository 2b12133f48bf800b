"""Expand the finally subroutines of CPython 3.8 into the copies that later compilers write themselves.

Input: ``Raw`` of a 3.8 code object.  Output: ``Raw`` without BEGIN_FINALLY, CALL_FINALLY, POP_FINALLY, END_FINALLY and
WITH_CLEANUP_*; reachable instructions only.

In 3.8 a finally body finds a *marker* on the stack that says why it runs: NULL (the try body ended), a return address
(CALL_FINALLY) or an exception (six slots).  Which one it is depends only on the path, so an instruction is copied once
per stack of markers that can be there, and the markers themselves disappear, except the exception's six slots::

    BEGIN_FINALLY; body; END_FINALLY; rest              body; rest
    CALL_FINALLY body; back                      ->     body; JUMP back
    (handler) body; END_FINALLY                         body; RERAISE

MARK and UNMARK stay where a marker is pushed and found that is no exception: ``finally_markers`` sees to it that
nothing else takes it.
"""

from __future__ import annotations

from heapq import heappop, heappush

from depyf.decompiler.bytecode.checks.finally_markers import BELOW_RESULT, BELOW_VALUE, FOUND
from depyf.decompiler.bytecode.decode import Raw
from depyf.decompiler.bytecode.versions.spec import VersionSpec
from depyf.errors import BytecodeError

Markers = tuple[int, ...]  # innermost last: _NULL, _EXC, or the raw index that CALL_FINALLY returns to
Node = tuple[int, Markers, bool]  # raw index, markers, and whether it is the exit of a with that swallowed an exception

_NULL = -1
_EXC = -2

_SUBROUTINE = {"BEGIN_FINALLY", "CALL_FINALLY", "POP_FINALLY", "END_FINALLY", "WITH_CLEANUP_START"}
_SETUPS = {"SETUP_FINALLY", "SETUP_WITH", "SETUP_ASYNC_WITH"}
_ENDS = {"RETURN_VALUE", "RAISE_VARARGS"}
_JUMPS = {"JUMP_FORWARD", "JUMP_ABSOLUTE"}


def expand(raw: Raw, spec: VersionSpec) -> Raw:
    """The expanded code; ``raw`` itself where there is nothing to expand."""
    if _SUBROUTINE.isdisjoint(raw.names):
        return raw
    return _Expansion(raw, spec).run()


class _Expansion:
    """The copies made so far (``place``), and those that jumps still wait for (``pending``).

    A copy of a ``finally`` body is finished before anything else, as later compilers lay it out; then the lowest comes
    first.
    """

    def __init__(self, raw: Raw, spec: VersionSpec) -> None:
        self.raw = raw
        self.opcodes = {name: opcode for opcode, name in enumerate(spec.opnames) if name} | dict(spec.pseudo)
        self.new = Raw(raw.unit)
        self.place: dict[Node, int] = {}
        self.waiting: list[tuple[int, Node]] = []
        self.pending: list[tuple[int, Node]] = [(0, (0, (), False))]
        self.lowest: list[Node] = []
        self.limit = 10 * len(raw.names) + 100_000

    def run(self) -> Raw:
        while self.pending:
            node = heappop(self.pending)[1]
            if node not in self.place:
                self.chain(node)
        new = self.new
        for index, node in self.waiting:
            target = new.targets[index] = self.place[node]
            new.jumped_to.add(target)
        return new

    def error(self, i: int, reason: str) -> BytecodeError:
        raw = self.raw
        return BytecodeError(f"{raw.unit.qualname}: {raw.names[i]} at offset {raw.offsets[i]}: {reason}")

    def emit(self, i: int, name: str, arg: int = 0, target: Node | None = None) -> None:
        """Append an instruction for raw instruction ``i``."""
        new = self.new
        if target is not None:
            self.waiting.append((len(new.names), target))
            copied = sum(marker != _EXC for marker in target[1])
            heappush(self.pending, (-copied, target))
            heappush(self.lowest, target)
        new.opcodes.append(self.opcodes[name])
        new.names.append(name)
        new.args.append(arg)
        new.offsets.append(self.raw.offsets[i])
        new.lines.append(self.raw.lines[i])
        new.targets.append(-1)
        if len(new.names) > self.limit:
            raise self.error(i, "finally blocks are nested too deeply to expand")

    def chain(self, node: Node | None) -> None:
        """Copy from ``node`` on until control leaves, or reaches a copy that exists."""
        last = 0
        while node is not None:
            if node in self.place:
                self.emit(last, "JUMP_ABSOLUTE", 0, node)
                return
            last = node[0]
            if last >= len(self.raw.names):
                raise self.error(last - 1, "control falls off the end of the code")
            if len(node[1]) > _MAX_MARKERS:
                raise self.error(last, "finally blocks are nested too deeply")
            self.place[node] = len(self.new.names)
            node = self.step(*node)

    def step(self, i: int, markers: Markers, swallowed: bool) -> Node | None:
        """Copy one instruction and say what follows it."""
        raw = self.raw
        name, arg, target = raw.names[i], raw.args[i], raw.targets[i]
        if swallowed:
            self.pop_exception(i)
            self.emit(i, "POP_TOP")  # __exit__
            self.emit(i, "MARK")
            return i + 1, (*markers[:-1], _NULL), False
        if name == "BEGIN_FINALLY":
            self.emit(i, "MARK")
            return i + 1, (*markers, _NULL), False
        if name == "CALL_FINALLY":
            self.emit(i, "MARK")
            return target, (*markers, i + 1), False
        if name in _SETUPS:
            self.emit(i, name, arg, (target, (*markers, _EXC), False))
            return i + 1, markers, False
        if name in _MARKED:
            if not markers:
                raise self.error(i, "it is not in a finally block or handler")
            return self.marked(i, markers)
        if name in _ENDS:
            self.emit(i, name, arg)
            return None
        self.emit(i, name, arg, (target, markers, False) if target >= 0 else None)
        return None if name in _JUMPS else (i + 1, markers, False)

    def marked(self, i: int, markers: Markers) -> Node | None:
        """Copy an instruction whose meaning depends on the innermost marker."""
        name, arg = self.raw.names[i], self.raw.args[i]
        outer, why = markers[:-1], markers[-1]
        if name == "END_FINALLY":
            if why == _EXC:
                self.emit(i, "RERAISE")
                return None
            self.emit(i, "UNMARK", FOUND)
            return self.past_handlers(i, outer) if why == _NULL else (why, outer, False)
        if name == "POP_FINALLY":
            if why == _EXC:
                if arg:
                    self.emit(i, "ROT_FOUR")
                self.pop_exception(i, bool(arg))
            else:
                self.emit(i, "UNMARK", BELOW_VALUE if arg else FOUND)
            return i + 1, outer, False
        if name == "WITH_CLEANUP_START":
            if why == _EXC:
                self.emit(i, "WITH_EXCEPT_START")
                self.emit(i, "MARK", BELOW_RESULT)
            else:
                self.emit(i, "UNMARK", FOUND)
                for part, count in (("LOAD_NONE", 0), ("DUP_TOP", 0), ("DUP_TOP", 0), ("CALL_FUNCTION", 3)):
                    self.emit(i, part, count)
                self.emit(i, "MARK", BELOW_RESULT)
            return i + 1, markers, False
        if name == "WITH_CLEANUP_FINISH":
            self.emit(i, "UNMARK", BELOW_RESULT)
            if why == _EXC:
                self.emit(i, "POP_JUMP_IF_TRUE", 0, (i, markers, True))
            else:
                self.emit(i, "POP_TOP")
                self.emit(i, "MARK")
            return i + 1, markers, False
        if why != _EXC:  # POP_EXCEPT, END_ASYNC_FOR
            raise self.error(i, "it is not in an exception handler")
        self.emit(i, name, arg)
        return i + 1, outer, False

    def past_handlers(self, i: int, outer: Markers) -> Node | None:
        """What follows a whole ``finally`` statement goes after its handler, where later compilers put it."""
        node = (i + 1, outer, False)
        while self.lowest and self.lowest[0] in self.place:
            heappop(self.lowest)
        if not self.lowest or self.lowest[0][0] > i:
            return node
        self.emit(i, "JUMP_FORWARD", 0, node)
        return None

    def pop_exception(self, i: int, keep_top: bool = False) -> None:
        """Drop the exception being handled, and restore the one before it; a value on top stays there."""
        for _ in range(3):
            self.emit(i, "POP_TOP")
        if keep_top:
            self.emit(i, "ROT_FOUR")
        self.emit(i, "POP_EXCEPT")


_MARKED = {"END_FINALLY", "POP_FINALLY", "WITH_CLEANUP_START", "WITH_CLEANUP_FINISH", "POP_EXCEPT", "END_ASYNC_FOR"}
_MAX_MARKERS = 60
