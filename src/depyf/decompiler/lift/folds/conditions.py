"""Folds short circuits, conditional expressions and chained comparisons over lifted blocks.

Each fold keeps the order of evaluation: the absorbed block ran right after its only predecessor, and has no statement.
"""

from __future__ import annotations

from dataclasses import replace

from depyf.decompiler.bytecode import ops
from depyf.decompiler.cfg.program import NONE, Program
from depyf.decompiler.ir.expr import BoolOf, Cmp, Cond, Const, Expr
from depyf.decompiler.ir.grown import grown
from depyf.decompiler.ir.markers import ForTest, Marker
from depyf.decompiler.lift.lifted_block import Lifted
from depyf.decompiler.lift.lifted_graph import LiftedGraph
from depyf.decompiler.lift.negation import OPPOSITE, Span, grouped, negate, steps_deeper, ungrouped
from depyf.decompiler.lift.stack_values import TESTED_NONE, Shared


def join(op: str, left: Expr, right: Expr) -> BoolOf:
    """``left op right``; a right operand of the same operator is flattened (it evaluates in the same order)."""
    return BoolOf(op, grown(_operands(op, left), _operands(op, right)))


def _both(op: str, left: Expr, right: Expr) -> BoolOf:
    """``left op right`` of two tests; a right operand that is a separate value keeps its parentheses."""
    values = grown(_operands(op, left), (right,))
    if isinstance(left, BoolOf) and left.op == op and not left.apart:
        return BoolOf(op, values, written=left.written, deeper=left.deeper)
    return BoolOf(op, values)


def _operands(op: str, value: Expr) -> tuple[Expr, ...]:
    return value.values if isinstance(value, BoolOf) and value.op == op and not value.apart else (value,)


def _is_test(block: Lifted) -> bool:
    return block.cond is not None and not isinstance(block.cond, ForTest)


def _special(test: Expr | None) -> bool:
    return isinstance(test, Marker)


def fold_test(lifted: LiftedGraph, parent: Lifted, child: Lifted) -> bool:
    """Two tests that share a destination become one: ``a and b``, ``a or b``, or a link of a chained comparison."""
    if parent.cond is None or child.stmts or parent.container != child.container or not _is_test(parent):
        return False
    if parent.id == child.id or lifted.asserts.around(parent.begins) != lifted.asserts.around(child.begins):
        return False
    if _fold_link(lifted, parent, child):
        return True
    if not _is_test(child) or child.used or child.low < child.depth - (parent.keep is not None):
        return False
    if _special(parent.cond) or _special(child.cond):
        return False
    assert child.cond is not None
    if parent.keep is not None and child.keep is not None and child.id == parent.succs[parent.falls]:
        return _fold_kept(lifted, parent, child)
    if (
        parent.keep is not None
        or child.id in child.succs
        or parent.id in child.succs
        and child.succs[0] == child.succs[1]
    ):
        return False
    if child.id != parent.succs[parent.falls]:
        return _fold_conditional_test(lifted, parent, child) or _fold_constant_arm(lifted, parent, child)
    one_line = parent.tested_at == child.line
    may_be_while = not one_line and not parent.stmts and lifted.is_loop_head(parent.id)
    if not one_line and _goes_on(lifted, child, parent.succs):
        return False
    if may_be_while and (_breaks(lifted, parent, child) or _jumps_apart(lifted, child)):
        return False
    if not lifted.style.wide_folds and parent.line is not None and child.line is not None and not one_line:
        return False
    left, right = parent.cond, child.cond
    if not one_line and isinstance(right, BoolOf) and not right.apart:
        right = BoolOf(right.op, right.values, below=True)
    yes, no = parent.succs
    child_yes, child_no = child.succs
    if yes == no or child_yes == child_no and child_yes not in (yes, no):
        return False
    places = _source(program := lifted.graph.program, parent.begins), _source(program, child.begins)
    if child.keep is None and places[0] is not None and places[1] is not None:
        if _earlier_operand_follows(lifted, parent, child, max(places[0], places[1])):
            return False
        if places[1] < places[0] and child.id == yes and no in child.succs:
            return _fold_else_constant(lifted, parent, child)
    falls = child.falls
    shared = parent.succs[1 - parent.falls]
    if not one_line and shared <= parent.id and child.succs[falls] == shared:
        return False  # ``continue`` under a separate test
    if child.id == yes and child_no == no:
        cond, succs = _both("and", left, right), [child_yes, no]
    elif child.id == no and child_yes == yes:
        cond, succs = _both("or", left, right), [yes, child_no]
    elif child.keep is not None and child.id == yes and _dropped(lifted, child_no) == no:
        cond, succs = _both("and", left, right), [child_yes, child_no]
    elif child.keep is not None and child.id == no and _dropped(lifted, child_yes) == yes:
        cond, succs = _both("or", left, right), [child_yes, child_no]
    elif child.id == yes and child_yes == no and child.keep is None:
        if falls == 1:
            cond, succs, falls = _both("and", left, negate(right)), [child_no, no], 0
        else:
            cond, succs = _both("or", negate(left), right), [no, child_no]
    elif child.id == no and child_no == yes and child.keep is None:
        if falls == 0:
            cond, succs = _both("and", negate(left), right), [child_yes, yes]
        else:
            cond, succs, falls = _both("or", left, negate(right)), [yes, child_yes], 0
    else:
        return _fold_conditional_test(lifted, parent, child)
    _take(lifted, parent, child, _as_written(lifted, parent, child, cond), succs, falls)
    return True


def _as_written(lifted: LiftedGraph, parent: Lifted, child: Lifted, test: BoolOf) -> Expr:
    """``test``, the last operand of which comes from ``child``, with what the columns tell of it (3.11+)."""
    program = lifted.graph.program
    if not program.columns.known:
        return test
    first = left = right = None
    found: Expr = test
    if NONE not in (parent.begins, parent.branch, child.begins):
        first, left = _operand_at(program, parent.begins), _operand_at(program, parent.branch)
        right = _operand_at(program, child.begins)
        found = grouped(test, left, right, program.columns.least, lifted.groups)
    if isinstance(found, BoolOf) and parent.tested_at != child.line:
        steps = 0
        if found is test and test.op == "and" and first and left and right and left[1][0] < right[0][0]:
            steps = steps_deeper(test, first[0][1], right[0][1])
        return replace(found, deeper=(*test.deeper, (len(found.values) - 1, steps)))
    return found


def _operand_at(program: Program, branch: int) -> Span | None:
    """Where an operand stands: the place of what computes it, and of a test for None that of the test."""
    value, test = program.place(branch - 1), program.place(branch)
    if program.instrs[branch].arg in ("none", "not none"):
        return test if test is not None and value is not None and test[0] == value[0] else None
    return value


def _breaks(lifted: LiftedGraph, head: Lifted, child: Lifted) -> bool:
    """Whether ``child`` is the test of a statement in the loop of ``head``, which happens to leave for the same place.

    The test of ``while`` jumps out of the loop and falls into the body; ``if a: break`` falls into the jump that
    leaves.
    """
    shared = head.succs[1 - head.falls]
    leaving = child.succs.index(shared) if shared in child.succs else 0
    return child.falls == (1 - leaving if _comes_round(lifted, shared, head.id) else leaving)


def _goes_on(lifted: LiftedGraph, child: Lifted, shared: list[int]) -> bool:
    """Whether the test of ``child`` has another operand on its line, which is folded first."""
    program, line = lifted.graph.program, child.tested_at
    for after in child.succs:
        node = lifted.graph.nodes[after]
        if after in shared or after in lifted.blocks or len(node.succs) != 2 or node.container != child.container:
            continue
        if line is not None and lifted.preds[after] == [child.id]:
            last = program.instrs[node.code[-1]]
            if last.op == ops.BRANCH and last.line == line and program.line[node.code[0]] == line:
                return True
    return False


def _jumps_apart(lifted: LiftedGraph, child: Lifted) -> bool:
    """Whether the branch of ``child`` goes to a jump on a separate line: ``break`` below ``if a or b:`` (3.11+)."""
    program = lifted.graph.program
    test = next((i for i in reversed(child.code) if program.instrs[i].op == ops.BRANCH), NONE)
    jump = program.instrs[program.jump[test]] if test != NONE else None
    return jump is not None and jump.op == ops.JUMP and jump.line not in (None, program.instrs[test].line)


def _comes_round(lifted: LiftedGraph, start: int, head: int) -> bool:
    """Whether a block leads back to the head of the loop around it without passing the head of an outer one."""
    nodes = lifted.graph.nodes
    seen, work = {start}, [start]
    while work and len(seen) < 100:
        for after in nodes[work.pop()].succs:
            if after == head:
                return True
            if after > head and after not in seen:
                seen.add(after)
                work.append(after)
    return False


def _dropped(lifted: LiftedGraph, name: int) -> int:
    """The successor of a block that only drops the kept operand; -1 if the block does more."""
    node = lifted.graph.nodes[name]
    code = [lifted.graph.program.instrs[i].op for i in node.code]
    return node.succs[0] if code == ["POP"] and len(node.succs) == 1 and len(lifted.preds[name]) == 1 else -1


def _fold_kept(lifted: LiftedGraph, parent: Lifted, child: Lifted) -> bool:
    """``a or b or`` ...: the child drops the operand the parent kept, and keeps its own for the same place."""
    if child.low != child.depth - 1 or parent.cond is None or child.cond is None:
        return False
    joined = lifted.graph.program.joined
    inner = parent.keep is not None and parent.keep.origin in joined
    ends = child.keep is not None and child.keep.origin not in joined
    whole = (
        parent.succs[1 - parent.falls] == child.succs[child.falls]
    )  # ``(a or b) and``: only what ends here jumps there
    if not inner and not ends and not whole:
        return False  # the child begins an operand in parentheses
    if child.id == parent.succs[1] and child.succs[0] == parent.succs[0]:
        cond, succs = _both("or", parent.cond, child.cond), list(child.succs)
    elif child.id == parent.succs[0] and child.succs[1] == parent.succs[1]:
        cond, succs = _both("and", parent.cond, child.cond), list(child.succs)
    else:
        return False
    if inner and ends and not whole:
        cond = BoolOf(cond.op, cond.values, True)
    parent.stack.pop()
    _take(lifted, parent, child, cond, succs, child.falls)
    return True


def _take(lifted: LiftedGraph, parent: Lifted, child: Lifted, cond: Expr, succs: list[int], falls: int) -> None:
    lifted.set_succs(child, [])
    lifted.set_succs(parent, succs)
    parent.cond = cond
    parent.falls = falls
    parent.branch = child.branch
    parent.keep = None
    if child.keep is not None:
        parent.cond = cond = ungrouped(cond, lifted.groups)
        parent.keep = Shared(cond, child.keep.origin)
        parent.stack.append(parent.keep)
    lifted.absorb(parent, child.id)


def _fold_conditional_test(lifted: LiftedGraph, parent: Lifted, child: Lifted) -> bool:
    """``if (a if c else b)``: both arms of ``c`` test and go to the same two places."""
    other_id = parent.succs[1] if child.id == parent.succs[0] else parent.succs[0]
    other = lifted.blocks.get(other_id)
    if other is None or lifted.only_pred(other_id) is not parent or other.stmts or other.used or other is child:
        return False
    if sorted(other.succs) != sorted(child.succs) or other.container != child.container:
        return False
    if not _is_test(other) or _special(other.cond) or _special(child.cond):
        return False
    if other.keep is not None or child.keep is not None or other.low < other.depth:
        return False
    if other.succs != child.succs:  # one of the arms is a ``not``
        turned = other if other.falls == 1 else child
        assert turned.cond is not None
        turned.cond, turned.falls = negate(turned.cond), 1 - turned.falls
        lifted.set_succs(turned, turned.succs[::-1])
    yes, no = (child, other) if child.id == parent.succs[0] else (other, child)
    assert parent.cond is not None and yes.cond is not None and no.cond is not None
    cond = Cond(parent.cond, yes.cond, no.cond)
    succs = list(child.succs)
    lifted.set_succs(other, [])
    lifted.absorb(parent, other.id)
    _take(lifted, parent, child, cond, succs, child.falls)
    parent.branch = NONE
    return True


def _fold_constant_arm(lifted: LiftedGraph, parent: Lifted, child: Lifted) -> bool:
    """``if (True if c else b)``: from ``c`` control falls into a jump to where ``b`` goes, too.

    A statement between the two would have a separate line.
    """
    target = parent.succs[parent.falls]
    if target not in child.succs or child.succs[0] == child.succs[1]:
        return False
    if not lifted.in_expression(child) and (child.line is None or child.line != parent.tested_at):
        return False
    assert parent.cond is not None and child.cond is not None
    test = parent.cond if parent.falls == 0 else negate(parent.cond)
    cond = Cond(test, Const(target == child.succs[0]), child.cond)
    _take(lifted, parent, child, cond, list(child.succs), child.falls)
    parent.branch = NONE
    return True


def _source(program: Program, branch: int) -> tuple[int, int] | None:
    """Where the operand that ``branch`` tests begins in the source (3.11+)."""
    if branch == NONE:
        return None
    value, instr = program.place(branch - 1), program.instrs[branch - 1]
    if branch > 1 and program.instrs[branch - 2].offset == instr.offset:
        # a superinstruction has the place of its first half; the test may have that of its operand, as wide as the name
        value = program.place(branch)
        if value is None or (value[0][0], value[0][1] + len(str(instr.arg))) != value[1]:
            return None
    return None if value is None else value[0]


def _earlier_operand_follows(lifted: LiftedGraph, parent: Lifted, child: Lifted, begins: tuple[int, int]) -> bool:
    """Whether ``child`` leads to a test that stands before ``begins``, as in ``b if a else False``: these two are taken
    first.

    All three share a destination.
    """
    program, graph = lifted.graph.program, lifted.graph
    for after in child.succs:
        node = graph.nodes[after]
        if after in lifted.blocks or lifted.preds[after] != [child.id] or node.container != child.container:
            continue
        test = node.code[-1]
        if program.instrs[test].op == ops.BRANCH and not set(parent.succs).isdisjoint(node.succs):
            at = _source(program, test)
            if at is not None and at < begins:
                return True
    return False


def _fold_else_constant(lifted: LiftedGraph, parent: Lifted, child: Lifted) -> bool:
    """``if (b if c else True)``: where ``c`` is false, control goes where ``b`` goes, too."""
    assert parent.cond is not None and child.cond is not None
    cond = Cond(parent.cond, child.cond, Const(parent.succs[1] == child.succs[0]))
    _take(lifted, parent, child, cond, list(child.succs), child.falls)
    parent.branch = NONE
    return True


def _fold_link(lifted: LiftedGraph, parent: Lifted, child: Lifted) -> bool:
    """``a < b`` on the way to ``< c``: the failing side drops the kept ``b`` and goes where the child goes."""
    if child.id != parent.succs[0] or not isinstance(parent.cond, Cmp):
        return False
    link = child.cond if child.cond is not None else (child.stack[-1] if child.stack else None)
    keep = child.keep
    if not isinstance(link, Cmp) or link.left is not parent.cond.left or len(link.ops) <= len(parent.cond.ops):
        if isinstance(link, Shared) and keep is link and isinstance(link.expr, Cmp):
            link = link.expr
        else:
            return False
    if link.ops[: len(parent.cond.ops)] != parent.cond.ops or link.rights[0] is not parent.cond.rights[0]:
        return False
    cleanup_id = parent.succs[1]
    if child.cond is link and link.rights[-1] is TESTED_NONE and keep is None:
        if child.succs[0] in (cleanup_id, _cleanup_target(lifted, cleanup_id)):
            # what fails there tells which of the two tests for None it is
            child.cond = Cmp(link.left, (*link.ops[:-1], OPPOSITE[link.ops[-1]]), link.rights)
            lifted.set_succs(child, child.succs[::-1])
            child.falls = 1 - child.falls
    if child.cond is not None and keep is not None or child.cond is not None and child.succs[1] == cleanup_id:
        if child.succs[1] != cleanup_id:
            return False
        succs, stack = list(child.succs), child.stack
    elif child.cond is not None:
        if _cleanup_target(lifted, cleanup_id) != child.succs[1]:
            return False
        succs, stack = list(child.succs), child.stack
    else:
        return False
    base = parent.stack[: len(parent.stack) - (2 if parent.keep is not None else 1)]
    parent.stack[:] = [*base, *stack[len(base) :]]
    falls, cond = child.falls, child.cond
    parent.keep = keep
    parent.open.update(child.open)
    lifted.set_succs(child, [])
    lifted.set_succs(parent, succs)
    parent.cond, parent.falls, parent.branch = cond, falls, NONE
    lifted.absorb(parent, child.id)
    _drop_if_dead(lifted, cleanup_id)
    return True


def _cleanup_target(lifted: LiftedGraph, name: int) -> int:
    """Where the clean-up block of a chained comparison goes, -1 if it is no such block."""
    node = lifted.graph.nodes[name]
    instrs = lifted.graph.program.instrs
    if len(node.succs) != 1 or not node.code or len(node.code) > 2:
        return -1
    if all(instrs[i].op in ("POP", "SWAP", "ROT") for i in node.code):
        return node.succs[0]
    return -1


def _drop_if_dead(lifted: LiftedGraph, name: int) -> None:
    if lifted.preds[name]:
        return
    block = lifted.blocks.get(name)
    if block is not None:
        lifted.set_succs(block, [])
        del lifted.blocks[name]
    else:
        for after in lifted.graph.nodes[name].succs:
            lifted.preds[after].remove(name)
    lifted.merged[name] = name
    lifted.dead.add(name)


def fold_chain_end(lifted: LiftedGraph, name: int) -> bool:
    """Value of a chained comparison: the last link and the clean-up block both reach ``name`` with one value."""
    for before in list(lifted.preds[name]):
        child = lifted.blocks.get(before)
        if child is None or child.cond is not None or child.stmts or child.succs != [name] or not child.stack:
            continue
        parent = lifted.only_pred(child.id)
        if parent is None or parent.keep is None or not isinstance(parent.cond, Cmp) or parent.succs[0] != child.id:
            continue
        link = child.stack[-1]
        if not isinstance(link, Cmp) or link.left is not parent.cond.left or len(link.ops) <= len(parent.cond.ops):
            continue
        cleanup_id = parent.succs[1]
        if _cleanup_target(lifted, cleanup_id) != name or parent.container != child.container:
            continue
        parent.stack[-2:] = [link]
        parent.cond = parent.keep = None
        parent.open.update(child.open)
        lifted.set_succs(child, [])
        lifted.set_succs(parent, [name])
        lifted.absorb(parent, child.id)
        _drop_if_dead(lifted, cleanup_id)
        return True
    return False


def _pushes_one(block: Lifted, dropped: int) -> bool:
    """Whether a block does nothing but drop ``dropped`` entry values and push one."""
    if block.stmts or block.used or block.cond is not None or block.open:
        return False
    base = block.depth - dropped
    return block.low >= base and len(block.stack) == base + 1 and not isinstance(block.stack[-1], Marker)


def fold_value(lifted: LiftedGraph, name: int) -> bool:
    """``x if a else y`` and ``a or b`` as values: both sides reach ``name`` with one more value on the stack."""
    for before in list(lifted.preds[name]):
        side = lifted.blocks.get(before)
        if side is None or side.succs != [name]:
            continue
        parent = lifted.only_pred(side.id)
        if parent is None or parent.cond is None or parent.container != side.container or _special(parent.cond):
            continue
        if parent.keep is not None:
            if name in parent.succs and parent.succs.count(name) == 1 and _pushes_one(side, 1):
                op = "or" if parent.succs[0] == name else "and"
                value: Expr = join(op, parent.keep.expr, side.stack[-1])
                _merge_value(lifted, parent, [side.id], 1, value, name)
                return True
            continue
        if not _pushes_one(side, 0):
            continue
        other_id = parent.succs[1] if parent.succs[0] == side.id else parent.succs[0]
        other = lifted.blocks.get(other_id)
        if other is None or other is side or lifted.only_pred(other_id) is not parent or other.succs != [name]:
            continue
        if other.container != side.container or not _pushes_one(other, 0):
            continue
        yes, no = (side, other) if parent.succs[0] == side.id else (other, side)
        value = Cond(parent.cond, yes.stack[-1], no.stack[-1])
        if parent.falls == 1:
            value = Cond(negate(parent.cond), no.stack[-1], yes.stack[-1])
        _merge_value(lifted, parent, [side.id, other_id], 0, value, name)
        return True
    return False


def _merge_value(lifted: LiftedGraph, parent: Lifted, absorbed: list[int], drop: int, value: Expr, name: int) -> None:
    if drop:
        del parent.stack[len(parent.stack) - drop :]
    parent.stack.append(value)
    parent.cond = parent.keep = None
    for child in absorbed:
        lifted.set_succs(lifted.blocks[child], [])
    lifted.set_succs(parent, [name])
    for child in absorbed:
        lifted.absorb(parent, child)
