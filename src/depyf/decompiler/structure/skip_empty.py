"""Skips lifted blocks that turned out to be empty.

Input and output: lifted blocks.  An edge skips an empty block only if it then enters the same ``try`` as before.
"""

from __future__ import annotations

from depyf.decompiler.cfg.containers import Containers
from depyf.decompiler.cfg.program import NONE
from depyf.decompiler.lift.lifted_block import Lifted


def skip_empty(blocks: dict[int, Lifted], containers: Containers, entry: int) -> None:
    """Redirect edges past empty blocks and drop the blocks nothing leads to any more (edits ``blocks``)."""
    if not any(_empty(block) for block in blocks.values()):
        return
    _note_dropped_iterators(blocks)
    for block in blocks.values():
        if _empty(block) and block.iterators:
            # what a ``break`` leads to is after the loop
            blocks[_final(blocks, containers, block.container, block.succs[0])].iterators += block.iterators
    for block in blocks.values():
        block.succs = [_final(blocks, containers, block.container, after) for after in block.succs]
    entries = containers.handler_entries
    around = {one.region: one.parent for one in containers.tree if one.kind == "try"}
    for region, target in entries.items():
        record = containers.regions.table[region]
        if record.kind == "with" and target in blocks:
            source = around.get(region, blocks[target].container)
            entries[region] = record.resume = _final(blocks, containers, source, target)
    reachable: set[int] = set()
    work = [entry, *(target for target in entries.values() if target in blocks)]
    while work:
        name = work.pop()
        if name not in reachable:
            reachable.add(name)
            work.extend(blocks[name].succs)
    for name in [name for name in blocks if name not in reachable]:
        del blocks[name]


def _note_dropped_iterators(blocks: dict[int, Lifted]) -> None:
    """``break`` may be a block that only drops the iterator: what it alone goes to is after that loop as well."""
    before: dict[int, list[Lifted]] = {}
    for block in blocks.values():
        for after in block.succs:
            before.setdefault(after, []).append(block)
    for name, preds in before.items():
        if all(_empty(block) and block.iterators for block in preds):
            blocks[name].iterators += preds[0].iterators


def _empty(block: Lifted) -> bool:
    return not block.stmts and block.cond is None and len(block.succs) == 1 and block.succs[0] != block.id


def _final(blocks: dict[int, Lifted], containers: Containers, source: int, target: int) -> int:
    seen: set[int] = set()
    while target not in seen:
        seen.add(target)
        block = blocks[target]
        if not _empty(block):
            break
        after = block.succs[0]
        if block.container != source:
            inside = blocks[after].container
            if containers.outermost_without(block.container, source) != NONE:
                break
            if containers.outermost_without(inside, source) != containers.outermost_without(inside, block.container):
                break
        target = after
    return target
