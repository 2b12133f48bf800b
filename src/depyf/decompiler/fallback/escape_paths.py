"""Escape paths for handlers nested in a handler that never reaches POP_EXCEPT (3.11+, plain lifting).

A handler whose record of what was handled before is dropped from the stack, in the body of another handler entered
inside it, is one that no ``POP_EXCEPT`` will leave.  Each round of a loop could nest two such bodies deeper.  The
detour leaves both bodies with the inner exception as a value and raises it again outside, to a handler that goes on
with the code:

    try: ...            ->          try: ...
    except:                         except:
        try: ...                        try: ...
        except:                         except BaseException as inner: ...
            rest                    try: raise inner
                                    except: rest
"""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.cfg.program import NONE, Program
from depyf.decompiler.cfg.region_table import Region, Regions


class Detours:
    """Code added to a program: each detour leaves the innermost handlers and enters them again one after the other."""

    def __init__(self, program: Program, regions: Regions) -> None:
        self.program = program
        self.regions = regions
        self.starts: dict[tuple[int, tuple[int, ...]], int] = {}
        """Where the detour to an instruction begins, by the slots of the records of the handlers to enter again."""
        self.places: set[int] = set()
        """The instructions that belong to detours."""
        self.within: set[int] = set()
        """Handlers in the body that is left."""

    def add(self, after: int, slots: tuple[int, ...], depth: int) -> None:
        """Write the detour to ``after``, where the stack is ``depth`` deep, for records in ``slots``, outermost
        first."""
        start = after
        for slot in reversed(slots):
            start = self._enter(start, slot, depth)
        for slot in slots:
            start = self._leave(start, slot, depth)
        self.starts[after, slots] = start
        self.regions.forget_chains()

    def _leave(self, after: int, slot: int, depth: int) -> int:
        """Leave the innermost handler; what it handles takes the place of its record."""
        restored = [(ops.POP_EXCEPT, 1), (ops.SWAP, depth + 1 - slot), (ops.POP_EXCEPT, 1), (ops.SWAP, 2)]
        handler = self._handler(after, [*restored, (ops.PUSH_EXC_INFO, None)], depth)
        self.within.add(handler)
        return self._raise(ops.RAISE, 0, handler)

    def _enter(self, after: int, slot: int, depth: int) -> int:
        """Handle the exception in ``slot``, with the record of what was handled before in its place."""
        entered = [(ops.POP, None), (ops.SWAP, depth + 1 - slot), (ops.POP, None), (ops.PUSH_EXC_INFO, None)]
        start = self._raise(ops.RERAISE, 1, self._handler(after, entered, depth))
        return self._put(start, ops.COPY, depth - slot)

    def _handler(self, after: int, backwards: list[tuple[str, int | None]], depth: int) -> int:
        for op, arg in backwards:
            after = self._put(after, op, arg)
        found = max(self.regions.table) + 1
        region = self.regions.table[found] = Region(found, after, depth, ("exc",))
        self.regions.depths[found], self.regions.records[found] = region.depth, region.record
        return found

    def _raise(self, op: str, count: int, handler: int) -> int:
        start = self._put(NONE, op, count)
        self.program.handler[start] = handler
        return start

    def _put(self, after: int, op: str, arg: int | None) -> int:
        start = self.program.append(after, op, arg)
        self.program.handler[start] = NONE
        self.places.add(start)
        return start
