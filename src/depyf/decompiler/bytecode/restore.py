"""Recognises how inlined comprehensions (3.12+) save and restore the slots they borrow.

Input: a ``Draft`` with LOAD_FAST_CLEAR in it.  Output, rewritten in place:

- every STORE_FAST that stores back what a LOAD_FAST_CLEAR of the same name saved is a RESTORE_FAST;
- a LOAD_CLOSURE of a slot that holds a plain value there is a LOAD_FAST: one comprehension may use a variable as a
  cell and the next one not, and since 3.13 both read it with the same instruction.

The saved value is followed through the stack, not matched by shape::

    LOAD_FAST_CLEAR x; SWAP 2; BUILD_LIST 0; SWAP 2; FOR_ITER ..; SWAP 2; STORE_FAST x    last one -> RESTORE_FAST x
"""

from __future__ import annotations

from typing import NamedTuple

from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.draft import Draft
from depyf.decompiler.bytecode.ops import stack_effect


class Saved(NamedTuple):
    """A stack slot with the content of a variable; ``plain`` says that it was a value then, not a cell."""

    name: str
    plain: bool


Stack = tuple["Saved | None", ...]
Plain = frozenset[str]  # the variables whose slot holds a value here although it holds a cell elsewhere


def mark_restores(draft: Draft, depths: list[int]) -> None:
    """Rewrite ``draft.ops``; ``depths`` is how much is on the stack before each instruction, -1 where none is
    reached."""
    names, args, targets = draft.ops, draft.args, draft.targets
    seen = [False] * len(names)
    entered = [False] * len(draft.handlers)
    work: list[tuple[int, Stack, Plain]] = [(0, (), frozenset())]
    raised_to = {
        h for h, op, depth in zip(draft.handler, names, depths, strict=True) if depth >= 0 and op not in ops.SILENT
    }
    for h, handler in enumerate(draft.handlers):
        if h not in raised_to and depths[handler.target] >= 0:  # what nothing raises to has code, too
            work.insert(0, (handler.target, (None,) * depths[handler.target], frozenset()))
    while work:
        i, entry, plain = work.pop()
        stack = list(entry)
        while not seen[i]:
            seen[i] = True
            op, arg = names[i], args[i]
            h = draft.handler[i]
            if h >= 0 and not entered[h] and op not in ops.SILENT:
                entered[h] = True
                handler = draft.handlers[h]
                work.append((handler.target, (*stack[: handler.depth], *(None,) * len(handler.pushes)), plain))
            if op == ops.LOAD_FAST_CLEAR:
                stack.append(Saved(arg, arg in plain))
                plain |= {arg}
            elif op == ops.MAKE_CELL:
                plain -= {arg}
            elif op == ops.LOAD_CLOSURE:
                if arg in plain:
                    names[i] = ops.LOAD_FAST
                stack.append(None)
            elif op == ops.STORE_FAST:
                saved = stack.pop()
                if saved is not None and saved.name == arg:
                    names[i] = ops.RESTORE_FAST
                    plain = plain | {arg} if saved.plain else plain - {arg}
            elif op == ops.COPY:
                stack.append(stack[-arg])
            elif op == ops.SWAP:
                stack[-1], stack[-arg] = stack[-arg], stack[-1]
            elif op == ops.ROT:
                stack.insert(len(stack) - arg, stack.pop())
            else:
                pops, pushes = stack_effect(op, arg)
                del stack[len(stack) - pops :]
                if targets[i] >= 0:
                    work.append((targets[i], tuple(stack), plain))
                if op in ops.TERMINATORS:
                    break
                stack += [None] * pushes
            i += 1
