"""What each stack slot of a mutant holds, so that running it never does what CPython does not check.

Input: a body of ``mutantcfg``.  A slot has a *kind*: ``v`` any object, ``t`` the tracer, ``l s d`` a list, set or dict
(whose adding operations check nothing), ``i`` an iterator, ``e`` a caught exception, ``o`` what was handled before it, ``x``
an offset, ``w`` the exit of a manager, ``n m f`` NULL, maybe NULL; ``c C k`` cells, a tuple of them, and code, and ``a``
what a delegation goes on with.  Where paths join, objects of different kinds are any object, and all else must agree.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING

from tools.fuzz.bytecode.assembler import VERSION

if TYPE_CHECKING:
    from tools.fuzz.bytecode.mutantcfg import Block, Body, Ins

Kinds = tuple[str, ...]
OBJECTS = frozenset("vtlsdieFS")
_QUIET = frozenset(
    "NOP POP_TOP COPY SWAP LOAD_CONST PUSH_NULL PUSH_EXC_INFO POP_EXCEPT STORE_FAST LOAD_FAST_AND_CLEAR RETURN_VALUE "
    "RETURN_CONST BUILD_TUPLE BUILD_LIST LIST_APPEND LOAD_CLOSURE MAKE_FUNCTION IS_OP STORE_DEREF MATCH_SEQUENCE "
    "RETURN_GENERATOR MAKE_CELL PUSH_CALLABLE SET_FUNCTION_ATTRIBUTE BUILD_SLICE".split()
)
_TAKES = {
    "COMPARE_OP": (2, 1), "IS_OP": (2, 1), "CONTAINS_OP": (2, 1), "BINARY_OP": (2, 1), "BINARY_SUBSCR": (2, 1),
    "BINARY_SLICE": (3, 1), "STORE_SUBSCR": (3, 0), "DELETE_SUBSCR": (2, 0), "STORE_SLICE": (4, 0),
    "UNARY_NEGATIVE": (1, 1), "UNARY_POSITIVE": (1, 1), "UNARY_INVERT": (1, 1), "UNARY_NOT": (1, 1),
    "YIELD_VALUE": (1, 1), "STORE_DEREF": (1, 0), "DELETE_DEREF": (0, 0), "DELETE_FAST": (0, 0), "LOAD_DEREF": (0, 1),
    "LOAD_ASSERTION_ERROR": (0, 1), "LOAD_COMMON_CONSTANT": (0, 1), "STORE_ATTR": (2, 0), "LOAD_SMALL_INT": (0, 1),
    "GET_LEN": (1, 2), "MATCH_SEQUENCE": (1, 2),
}  # fmt: skip
"""Objects taken and put back; ``GET_LEN`` and ``MATCH_SEQUENCE`` keep what they ask about."""
_INTO = {
    "LIST_APPEND": "l",
    "LIST_EXTEND": "l",
    "SET_ADD": "s",
    "SET_UPDATE": "s",
    "DICT_UPDATE": "d",
    "DICT_MERGE": "d",
}


class Wrong(Exception):
    pass


def _take(stack: list[str], kinds: frozenset[str] | str = OBJECTS) -> str:
    if not stack or stack[-1] not in kinds:
        raise Wrong
    return stack.pop()


def step(body: Body, op: Ins, stack: list[str], calls: set[Ins]) -> None:
    """The effect of one instruction where control falls through; ``calls`` collects calls of the tracer."""
    name, arg = op.name, op.arg
    if name in _TAKES:
        for _ in range(_TAKES[name][0]):
            _take(stack)
        stack += ["v"] * _TAKES[name][1]
    elif name in ("NOP", "RESUME", "MAKE_CELL", "RETURN_CONST"):
        pass
    elif name == "LOAD_CONST":
        const = body.consts[arg]
        stack.append("k" if isinstance(const, types.CodeType) else "S" if isinstance(const, str) else "v")
    elif name == "LOAD_FAST":
        names = (*body.code.co_varnames, *(c for c in body.code.co_cellvars if c not in body.code.co_varnames))
        stack.append("t" if arg == 0 else "c" if names[arg] in body.code.co_cellvars else "v")
    elif name == "LOAD_CLOSURE":
        stack.append("c")
    elif name == "LOAD_FAST_AND_CLEAR":
        stack.append("f")
    elif name == "STORE_FAST":
        if arg in (0, 4):
            raise Wrong
        _take(stack, OBJECTS | {"f"})
    elif name == "POP_TOP":
        _take(stack, OBJECTS | {"w", "x"})
    elif name == "COPY":
        if len(stack) < arg or stack[-arg] not in OBJECTS | {"x", "o"}:
            raise Wrong
        stack.append(stack[-arg])
    elif name == "SWAP":
        if len(stack) < arg or stack[-arg] in "nm" or stack[-1] in "nm":
            raise Wrong
        stack[-1], stack[-arg] = stack[-arg], stack[-1]
    elif name == "PUSH_NULL":
        stack.append("n")
    elif name == "PUSH_CALLABLE":
        stack += ["t", "n"] if VERSION >= (3, 13) else ["n", "t"]
    elif name == "GIVE":
        _take(stack)
        calls.add(op)
        stack.append("v")
    elif name == "LOAD_GLOBAL":
        stack += [] if not arg & 1 else ["n"] if VERSION < (3, 13) else []
        stack += ["v"] + (["n"] if arg & 1 and VERSION >= (3, 13) else [])
    elif name in ("LOAD_ATTR", "LOAD_METHOD"):
        _take(stack)
        method = name == "LOAD_METHOD" or VERSION >= (3, 12) and arg & 1
        stack += ["v"] if not method else ["m", "v"] if VERSION < (3, 13) else ["v", "m"]
    elif name in ("CALL", "INVOKE"):
        for _ in range(arg):
            _take(stack)
        upper, lower = stack.pop(), stack.pop()
        if VERSION >= (3, 13):
            upper, lower = lower, upper
        if upper not in OBJECTS | {"w"} or lower not in OBJECTS | {"n", "m", "w"} or "w" in (upper, lower) and arg != 2:
            raise Wrong
        if upper == "t" and lower == "n":
            calls.add(op)
        stack.append("v")
    elif name == "CALL_FUNCTION_EX":
        for _ in range(1 + (arg & 1)):
            _take(stack)
        if VERSION >= (3, 13):
            _take(stack, "n")
        _take(stack)
        if VERSION < (3, 13):
            _take(stack, "n")
        stack.append("v")
    elif name in ("BUILD_TUPLE", "BUILD_LIST", "BUILD_SET"):
        if len(stack) < arg:
            raise Wrong
        if name == "BUILD_TUPLE" and arg and all(kind == "c" for kind in stack[-arg:]):
            stack[-arg:] = ["C"]
            return
        for _ in range(arg):
            _take(stack)
        stack.append({"BUILD_TUPLE": "v", "BUILD_LIST": "l", "BUILD_SET": "s"}[name])
    elif name == "BUILD_MAP":
        for _ in range(2 * arg):
            _take(stack)
        stack.append("d")
    elif name == "BUILD_STRING":
        for _ in range(arg):
            _take(stack, "S")
        stack.append("S")
    elif name in ("FORMAT_VALUE", "FORMAT_SIMPLE"):
        if arg & 4:
            _take(stack, "S")
        _take(stack)
        stack.append("S")
    elif name == "CONVERT_VALUE":
        _take(stack)
        stack.append("S")
    elif name == "MAP_ADD":
        _take(stack)
        _take(stack)
        if len(stack) < arg or stack[-arg] != "d":
            raise Wrong
    elif name in _INTO:
        _take(stack)
        if len(stack) < arg or stack[-arg] != _INTO[name]:
            raise Wrong
        if name == "DICT_MERGE" and (len(stack) < arg + 3 or not {*stack[-arg - 3 : -arg]} <= OBJECTS | {"n"}):
            raise Wrong
    elif name == "LIST_TO_TUPLE" or name == "CALL_INTRINSIC_1" and arg == 6:
        _take(stack, "l")
        stack.append("v")
    elif name == "CALL_INTRINSIC_1" and arg == 3:
        _take(stack, "e")
        stack.append("e")
    elif name == "UNPACK_SEQUENCE":
        _take(stack)
        stack += ["v"] * arg
    elif name == "UNPACK_EX":
        _take(stack)
        stack += ["v"] * ((arg & 255) + 1 + (arg >> 8))
    elif name == "GET_ITER":
        _take(stack)
        stack.append("i")
    elif name == "FOR_ITER":
        _take(stack, "i")
        stack += ["i", "v"]
    elif name in ("GET_AWAITABLE", "GET_YIELD_FROM_ITER"):
        _take(stack)
        stack.append("a")
    elif name == "DELEGATE":
        _take(stack, "a")
        stack.append("v")
    elif name == "MAKE_FUNCTION":
        _take(stack, "k")
        if arg & 8:
            _take(stack, "C")
        if arg & ~8:
            raise Wrong
        stack.append("F")
    elif name == "SET_FUNCTION_ATTRIBUTE" and arg == 8:
        _take(stack, "F")
        _take(stack, "C")
        stack.append("F")
    elif name == "BUILD_SLICE":
        for _ in range(arg):
            _take(stack)
        stack.append("v")
    elif name.startswith("JUMP_IF_"):
        _take(stack)
    elif name == "PUSH_EXC_INFO":
        _take(stack, "e")
        stack += ["o", "e"]
    elif name == "POP_EXCEPT":
        _take(stack, "o")
    elif name == "CHECK_EXC_MATCH":
        _take(stack)
        _take(stack, "e")
        stack += ["e", "v"]
    elif name == "RERAISE":
        if arg and (len(stack) < arg + 1 or stack[-arg - 1] != "x"):
            raise Wrong
        _take(stack, "e")
    elif name == "RAISE_VARARGS":
        for _ in range(arg):
            _take(stack)
    elif name == "RETURN_VALUE":
        _take(stack)
    elif name == "RETURN_GENERATOR":
        stack.append("v")
    elif name == "BEFORE_WITH":
        if _take(stack) == "t":
            calls.add(op)
        stack += ["w", "v"]
    elif name == "WITH_EXCEPT_START":
        if stack[-4:] != ["w", "x", "o", "e"]:
            raise Wrong
        stack.append("v")
    else:
        raise Wrong


def _join(old: Kinds, new: Kinds) -> Kinds:
    if len(old) != len(new):
        raise Wrong
    out = []
    for one, other in zip(old, new, strict=True):
        if one != other and not {one, other} <= OBJECTS:
            raise Wrong
        out.append(one if one == other else "v")
    return tuple(out)


def _walk(body: Body) -> tuple[dict[Block, Kinds], set[Ins], dict[Ins, int]]:
    states: dict[Block, Kinds] = {body.blocks[0]: ()}
    calls: set[Ins] = set()
    depths: dict[Ins, int] = {}
    work = [body.blocks[0]]

    def arrive(block: Block, stack: list[str]) -> None:
        known = states.get(block)
        found = tuple(stack) if known is None else _join(known, tuple(stack))
        if len(found) > 24:
            raise Wrong
        if found != known:
            states[block] = found
            work.append(block)

    while work:
        block = work.pop()
        stack = list(states[block])
        for op in block.ops:
            before = len(stack)
            low = list(stack)
            depths[op] = before
            calls.discard(op)
            step(body, op, stack, calls)
            handler = op.handler or (body.root if body.root and block is not body.root.block else None)
            if handler is not None and op.name not in _QUIET and block is not body.blocks[0]:
                if handler.depth > min(len(stack), before) - (op.name in ("SWAP", "COPY")):
                    raise Wrong
                kept = low[: handler.depth]
                if low[: handler.depth] != stack[: handler.depth] and op.name != "FOR_ITER":
                    raise Wrong
                arrive(handler.block, [*kept, *(["x"] if handler.lasti else []), "e"])
            if op.target is not None:
                taken = stack[:-2] if op.name == "FOR_ITER" else stack
                arrive(op.target, list(taken))
            if op.name in ("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE"):
                if block.next is not None or op is not block.ops[-1]:
                    raise Wrong
                break
        else:
            if block.next is None:
                raise Wrong
            arrive(block.next, stack)
    return states, calls, depths


def entries(body: Body) -> dict[Block, Kinds] | None:
    """The stack each block is entered with; None where something does not fit."""
    try:
        return _walk(body)[0]
    except (Wrong, IndexError):
        return None


def depth_at(body: Body, block: Block, op: Ins) -> int:
    return _walk(body)[2][op]


def fits(body: Body) -> bool:
    """Whether all slots are used for what they hold, and every run ends."""
    return entries(body) is not None and ends(body)


def ends(body: Body) -> bool:
    """Whether no run goes on for ever, given a tracer that sooner or later raises whenever it is called."""
    calls = _walk(body)[1]
    after: dict[tuple[Block, int], list[tuple[Block, int]]] = {}
    for block in body.reachable():
        for at, op in enumerate(block.ops):
            found = after.setdefault((block, at), [])
            if op not in calls:
                if at + 1 < len(block.ops):
                    found.append((block, at + 1))
                elif block.next is not None:
                    found.append((block.next, 0))
            if op.target is not None:
                found.append((op.target, 0))
            handler = op.handler or (body.root if body.root and block is not body.root.block else None)
            if handler is not None and op.name not in _QUIET:
                found.append((handler.block, 0))
        after.setdefault((block, len(block.ops)), [])
        if not block.ops and block.next is not None:
            after[block, 0] = [(block.next, 0)]
    done: set[tuple[Block, int]] = set()
    open_: set[tuple[Block, int]] = set()
    for start in after:
        if start in done:
            continue
        stack = [(start, iter(after[start]))]
        open_.add(start)
        while stack:
            node, rest = stack[-1]
            for other in rest:
                if other in open_:
                    return False
                if other not in done:
                    open_.add(other)
                    stack.append((other, iter(after[other])))
                    break
            else:
                stack.pop()
                open_.discard(node)
                done.add(node)
    return True


def unsure(body: Body) -> set[Ins]:
    """The reads of locals that may be unbound: from 3.12 on ``LOAD_FAST`` does not check."""
    bound: dict[Block, frozenset[int]] = {body.blocks[0]: frozenset(range(body.code.co_argcount))}
    work = [body.blocks[0]]
    found: set[Ins] = set()

    def arrive(block: Block, now: frozenset[int]) -> None:
        old = bound.get(block)
        new = now if old is None else old & now
        if new != old:
            bound[block] = new
            work.append(block)

    while work:
        block = work.pop()
        now = bound[block]
        for op in block.ops:
            handler = op.handler or body.root
            if handler is not None and op.name not in _QUIET:
                arrive(handler.block, now)
            if op.name == "STORE_FAST":
                now |= {op.arg}
            elif op.name in ("DELETE_FAST", "LOAD_FAST_AND_CLEAR"):
                now -= {op.arg}
            if op.target is not None:
                arrive(op.target, now)
        if block.next is not None:
            arrive(block.next, now)
    names = body.code.co_varnames
    for block, now in bound.items():
        for op in block.ops:
            if op.name == "LOAD_FAST" and op.arg not in now and op.arg < len(names):
                found.add(op)
            if op.name == "STORE_FAST":
                now |= {op.arg}
            elif op.name in ("DELETE_FAST", "LOAD_FAST_AND_CLEAR"):
                now -= {op.arg}
    return found
