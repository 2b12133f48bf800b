"""Merges the copies of returns, and finds the container each return belongs in."""

from __future__ import annotations

from depyf.decompiler.bytecode import ops
from depyf.decompiler.cfg.blocks import Blocks, Node
from depyf.decompiler.cfg.program import NONE, WITH_EXIT
from depyf.decompiler.cfg.undo.dropped_iterators import Drop, iterator_drops
from depyf.safety.depth import any_depth
from depyf.safety.rewrites import step

_LEAVING = frozenset({ops.POP_EXCEPT, ops.SWAP, ops.ROT})
NESTED = 20
"""The compiler nests no more blocks: a ``return`` leaves at most that many ``with``."""
_NEAR = 200
"""How many instructions after a ``return`` are looked at for code that stands before it."""
_STORES = frozenset({ops.STORE_FAST, ops.STORE_DEREF, ops.MAKE_FUNCTION})
_QUIET = (ops.SILENT - _STORES) | {WITH_EXIT}
"""What may lie between computing a value and returning it; a store is a separate statement."""


def merge_implicit_returns(blocks: Blocks) -> None:
    """Merge the implicit returns at the end of a function, which the compiler may have copied.

    A copy has no separate line: it has none at all, or that of the statement before it.  ``pass`` on a separate line
    leads there, too, and so does ``break`` in a loop that ends the function.
    """
    program = blocks.program
    candidates = [node for node in blocks.nodes.values() if blocks.returns_none(node)]
    if not candidates:
        return
    preds = blocks.predecessors()
    drops = _Drops(blocks)
    found: dict[int, list[int]] = {}
    for node in sorted(candidates, key=lambda node: node.id):
        if node.code[0] in program.own_returns:
            continue
        line = program.line[node.code[0]]
        if line is not None and blocks.optimised and not _appended(blocks, node, line):
            word = program.word(node.code[0])
            if word in ("return", "return None") and not preds[node.id]:
                continue
            before = [blocks.nodes[p] for p in preds[node.id]]
            if word != "pass" and not all(_ends_on(blocks, block, node, line, preds, drops) for block in before):
                if program.leaving_word(node.code[0]) != "break":
                    continue
                blocks.broken_to.add(node.id)
        found.setdefault(node.container, []).append(node.id)
    renamed: dict[int, int] = {}
    for first, *others in found.values():
        blocks.implicit.add(first)
        if not blocks.broken_to.isdisjoint(others):
            blocks.broken_to.add(first)
        renamed.update(dict.fromkeys(others, first))
        if others:
            step("merge the copies of the end of the function", first)
    if renamed:
        blocks.rename(renamed, [*blocks.nodes])


class _Drops:
    """Where iterators are dropped, looked for when that is first asked."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._found: dict[int, Drop] | None = None

    def __call__(self) -> dict[int, Drop]:
        if self._found is None:
            self._found = iterator_drops(self._blocks.program, self._blocks.containers)
        return self._found


def _appended(blocks: Blocks, node: Node, line: int) -> bool:
    """Whether a return is the one that the compiler puts after everything; it has the line of what it follows."""
    start, instrs = node.code[0], blocks.program.instrs
    if start == 0 or node.code[-1] != len(blocks.program.depths) - 1 or blocks.program.line[start - 1] != line:
        return False
    if blocks.program.unit.keeps_dead_code:
        return True
    copied = start > 1 and instrs[start - 1].op == ops.RETURN and instrs[start - 2].op == ops.LOAD_CONST
    return not copied or instrs[start - 2].arg is not None  # it follows a copy of itself


@any_depth
def _ends_on(
    blocks: Blocks,
    before: Node,
    node: Node,
    line: int,
    preds: dict[int, list[int]],
    drops: _Drops,
) -> bool:
    code = before.code
    instrs = blocks.program.instrs
    last = next((i for i in reversed(code) if instrs[i].op not in _LEAVING), None)
    if last is None and code and len(before.succs) == 1 and preds[before.id]:
        return all(_ends_on(blocks, blocks.nodes[p], before, line, preds, drops) for p in preds[before.id])
    if last is None or blocks.program.line[last] != line:
        return False
    if instrs[last].op == ops.POP and blocks.program.next[last] == node.code[0] and last in drops():
        return _breaks(blocks, last, drops())
    if len(before.succs) == 1 or blocks.program.next[code[-1]] != node.id:
        return True
    return 0 <= blocks.program.jump[code[-1]] <= code[-1]


def _breaks(blocks: Blocks, drop: int, drops: dict[int, Drop]) -> bool:
    """Whether the iterator that is dropped before a return was dropped by ``break``, and the return is a copy (3.10+).

    Without columns, a loop that is the last statement of the function is left by ``break``, any other by ``return``.
    """
    program = blocks.program
    if program.unit.keeps_dead_code:
        return False
    word = program.leaving_word(drop)
    if word is not None or drops[drop].inner:
        return word == "break"
    after = program.follow(program.jump[drops[drop].loop])
    ret = program.next[after]
    ends = program.instrs[after].op == ops.LOAD_CONST and ret != NONE and program.instrs[ret].op == ops.RETURN
    return ends and program.instrs[after].arg is None


def absorb_returns(blocks: Blocks) -> None:
    """Move a return into the ``try`` that computes its value, where nothing can raise any more."""
    if len(blocks.containers.tree) == 1:
        return
    preds = blocks.predecessors()
    instrs = blocks.program.instrs
    roots = set(blocks.roots())
    clause_ends = blocks.program.clause_ends
    pending = [node for node in blocks.nodes.values() if node.container >= 0]
    changed = True
    while changed:
        changed = False
        for node in pending:
            before = {blocks.nodes[p].container for p in preds[node.id]}
            leaves_with = bool(node.code) and instrs[node.code[0]].op == WITH_EXIT
            if not before or len(before) > 1 and not leaves_with or node.id in roots:
                continue
            if node.id in blocks.implicit and (len(preds[node.id]) > 1 or not blocks.optimised or _apart(blocks, node)):
                continue
            outer = _outside_star(blocks, blocks.containers.around(before))
            if outer == node.container or not blocks.containers.encloses(node.container, outer):
                continue
            load = _constant(blocks, node)
            while blocks.containers.encloses(node.container, outer) and _after_handler(blocks, load, outer):
                outer = blocks.containers.tree[outer].parent
            if outer == node.container or not blocks.containers.encloses(node.container, outer):
                continue
            if not all(instrs[i].op in _QUIET for i in node.code) or not _only_returns(blocks, node, preds):
                continue
            if len(preds[node.id]) > 1 and blocks.merging and blocks.returns_constant(node) and not leaves_with:
                continue  # several ways lead to one statement
            if not clause_ends.isdisjoint(i for p in preds[node.id] for i in blocks.nodes[p].code[-1:]):
                continue
            if _after_others(blocks, node, outer, preds):
                continue
            node.container = outer
            changed = True
            step("move a return into the try that computes its value", node.code[0])


def _apart(blocks: Blocks, end: Node) -> bool:
    """Whether the end of the function is a separate place: ``break`` leads there, and before 3.10 any jump."""
    return end.id in blocks.broken_to or blocks.program.unit.keeps_dead_code


def _outside_star(blocks: Blocks, container: int) -> int:
    """``container``, or the one around the outermost clause of ``except*`` that it is in: nothing can return there."""
    tree = blocks.containers.tree
    outside = container
    while tree[container].kind != "root":
        star = tree[container].kind == "handler" and blocks.containers.regions.table[tree[container].region].star
        container = tree[container].parent
        if star:
            outside = container
    return outside


def _only_returns(blocks: Blocks, node: Node, preds: dict[int, list[int]]) -> bool:
    instrs = blocks.program.instrs
    for _ in range(NESTED):
        if node.code and instrs[node.code[-1]].op == ops.RETURN:
            return True
        if len(node.succs) != 1 or len(preds[node.succs[0]]) != 1:
            return False
        node = blocks.nodes[node.succs[0]]
        if not all(instrs[i].op in _QUIET for i in node.code):
            return False
    return False


def _after_others(blocks: Blocks, node: Node, outer: int, preds: dict[int, list[int]]) -> bool:
    """Whether a constant is returned after code that is outside of the ``with`` whose exit comes before, by its lines.

    with a:             with a:
        return 1            break
    ...            or   ...
                        return 1
    """
    program, containers = blocks.program, blocks.containers
    container = containers.tree[outer]
    load = next((i for i in node.code if program.instrs[i].op == ops.LOAD_CONST), None)
    line = None if load is None else program.line[load]
    if load is None or line is None or container.kind != "try":
        return False
    if containers.regions.table[container.region].kind != "with":
        return False
    before = [i for p in preds[node.id] for i in blocks.nodes[p].code]
    first = max((at for at in (program.line[i] or 0 for i in before) if at < line), default=0)
    start = max(before, default=load) + 1
    near = range(start, min(max(start, load) + _NEAR, len(program.line)))
    others = (i for i in near[-2 * _NEAR :] if first < (program.line[i] or 0) < line and i in containers.of)
    return any(not containers.encloses(container.parent, containers.of[i]) or _beside(blocks, outer, i) for i in others)


def _beside(blocks: Blocks, outer: int, index: int) -> bool:
    """Whether an instruction is neither in a ``with`` nor in what handles its exceptions."""
    containers = blocks.containers
    inner = containers.of[index]
    while inner != containers.tree[outer].parent:
        around = containers.tree[inner]
        if around.region == containers.tree[outer].region:
            return False
        inner = around.parent
    return True


def _constant(blocks: Blocks, node: Node) -> int:
    """Where the constant is loaded that ``node``, or what alone comes after it, returns; -1 if there is none."""
    instrs = blocks.program.instrs
    for _ in range(NESTED):
        found = next((i for i in node.code if instrs[i].op == ops.LOAD_CONST), NONE)
        if found != NONE or len(node.succs) != 1:
            return found
        node = blocks.nodes[node.succs[0]]
    return NONE


def _after_handler(blocks: Blocks, load: int, outer: int) -> bool:
    """Whether the source lines say that the constant loaded at ``load`` comes after the handler of a ``try``."""
    container = blocks.containers.tree[outer]
    line = None if load == NONE else blocks.program.line[load]
    if container.kind != "try" or line is None:
        return False
    region = blocks.containers.regions.table[container.region]
    if region.kind == "with":
        return False
    start = region.target
    for index in range(start, min(start + 4, len(blocks.program.line))):
        handler_line = blocks.program.line[index]
        if handler_line is not None:
            return line > handler_line
    return False
