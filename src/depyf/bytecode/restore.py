"""Tell the STORE_FAST that ends an inlined comprehension (3.12+) from an ordinary one.

Input: a ``Draft`` with LOAD_FAST_CLEAR in it.  Output: every STORE_FAST that stores back what a LOAD_FAST_CLEAR of the
same name saved is a RESTORE_FAST.  The saved value is followed through the stack, not matched by shape::

    LOAD_FAST_CLEAR x; SWAP 2; BUILD_LIST 0; SWAP 2; FOR_ITER ..; SWAP 2; STORE_FAST x    last one -> RESTORE_FAST x
"""

from __future__ import annotations

from depyf.bytecode import ops
from depyf.bytecode.draft import Draft
from depyf.bytecode.ops import stack_effect

Stack = tuple["str | None", ...]


def mark_restores(draft: Draft) -> None:
    """Rewrite ``draft.ops`` in place; needs consistent stack depths."""
    names, args, targets = draft.ops, draft.args, draft.targets
    seen = [False] * len(names)
    entered = [False] * len(draft.handlers)
    work: list[tuple[int, Stack]] = [(0, ())]
    while work:
        i, entry = work.pop()
        stack = list(entry)
        while not seen[i]:
            seen[i] = True
            op, arg = names[i], args[i]
            h = draft.handler[i]
            if h >= 0 and not entered[h] and op not in ops.SILENT:
                entered[h] = True
                handler = draft.handlers[h]
                work.append((handler.target, (*stack[: handler.depth], *(None,) * len(handler.pushes))))
            if op == ops.LOAD_FAST_CLEAR:
                stack.append(arg)
            elif op == ops.STORE_FAST:
                if stack.pop() == arg:
                    names[i] = ops.RESTORE_FAST
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
                    work.append((targets[i], tuple(stack)))
                if op in ops.TERMINATORS:
                    break
                # FOR_ITER and its like keep lower slots: only those that cannot hold a saved value come back as None.
                stack += [None] * pushes
            i += 1
