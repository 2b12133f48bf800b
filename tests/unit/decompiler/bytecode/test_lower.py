"""Lowering: its invariants on every version, and agreement with ``dis`` on the running one."""

from __future__ import annotations

import dis
import importlib
import sys
import types
from dataclasses import fields, replace
from pathlib import Path

import pytest

import depyf
from depyf.decompiler.bytecode import ops
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.decode import decode
from depyf.decompiler.bytecode.files.pyc import unit_of_pyc
from depyf.decompiler.bytecode.lower import Lowered, lower
from depyf.decompiler.bytecode.versions import spec_for
from depyf.errors import BytecodeError
from foreign import VERSIONS, compiled_text, stdlib_pycs, walk

OPERATIONS = {value for name, value in vars(ops).items() if name.isupper() and isinstance(value, str)}


def check(lowered: Lowered) -> None:
    """The output invariant, recomputed without the code under test."""
    instrs, handlers = lowered.instrs, lowered.handlers
    assert instrs
    depth: dict[int, int] = {0: 0}
    work = [0]

    def reach(index: int, value: int) -> None:
        assert 0 <= index < len(instrs)
        if index in depth:
            assert depth[index] == value
        else:
            depth[index] = value
            work.append(index)

    while work:
        index = work.pop()
        instr = instrs[index]
        assert instr.op in OPERATIONS
        assert (instr.target >= 0) == (instr.op in ops.JUMPS)
        pops, pushes = ops.stack_effect(instr.op, instr.arg)
        assert 0 <= pops <= depth[index]
        after = depth[index] - pops + pushes
        if instr.target >= 0:
            reach(instr.target, after - (instr.arg + 1) if instr.op == ops.FOR_ITER else after)
        if instr.handler >= 0:
            handler = handlers[instr.handler]
            assert instr.op in ops.SILENT or handler.depth <= depth[index]
            reach(handler.target, handler.depth + len(handler.pushes))
        if instr.op not in ops.TERMINATORS:
            reach(index + 1, after)
    assert len(depth) == len(instrs), "dead code is dropped"
    assert {instr.handler for instr in instrs} - {-1} == set(range(len(handlers)))
    offsets = set(range(0, len(lowered.unit.code), 2))
    assert all(instr.offset in offsets for instr in instrs)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version(version: str) -> None:
    count = 0
    for data in stdlib_pycs(version):
        for unit in walk(unit_of_pyc(data)):
            assert unit.version == tuple(map(int, version.split(".")))
            check(lower(unit))
            count += 1
    assert count > 600


def code_objects(module: str) -> list[types.CodeType]:
    path = importlib.import_module(module).__file__
    assert path is not None
    found = [compile(Path(path).read_bytes(), path, "exec", dont_inherit=True)]
    for code in found:
        found += [const for const in code.co_consts if isinstance(const, types.CodeType)]
    return found


MODULES = ("argparse", "asyncio.base_events", "contextlib", "dataclasses", "inspect", "typing", "unittest.mock")


@pytest.mark.parametrize("module", MODULES)
def test_decode_agrees_with_dis(module: str) -> None:
    spec = spec_for(sys.version_info[:2])
    for code in code_objects(module):
        raw = decode(CodeUnit.from_code(code), spec)
        expected = [instruction for instruction in dis.get_instructions(code) if instruction.opname != "EXTENDED_ARG"]
        assert raw.names == [instruction.opname for instruction in expected]
        assert raw.offsets == [instruction.offset for instruction in expected]
        jumps = {*dis.hasjrel, *dis.hasjabs}
        for index, instruction in enumerate(expected):
            if instruction.arg is not None:
                assert raw.args[index] == instruction.arg
            if instruction.opcode in jumps and instruction.opname != "END_ASYNC_FOR":
                assert raw.index_at[instruction.argval] == raw.targets[index]
        lines = {offset: line for start, end, line in code.co_lines() for offset in range(start, end, 2)}
        assert raw.lines == [lines.get(offset) for offset in raw.offsets]


NAMED = {
    ops.LOAD_FAST, ops.STORE_FAST, ops.DELETE_FAST, ops.LOAD_DEREF, ops.STORE_DEREF, ops.LOAD_GLOBAL, ops.LOAD_ATTR,
    ops.LOAD_NAME, ops.STORE_NAME, ops.STORE_ATTR, ops.IMPORT_NAME, ops.IMPORT_FROM, ops.LOAD_METHOD, ops.LOAD_CLOSURE,
}  # fmt: skip


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="superinstructions name two variables at once from 3.13 on")
@pytest.mark.parametrize("module", MODULES)
def test_lower_agrees_with_dis(module: str) -> None:
    for code in code_objects(module):
        by_offset = {instruction.offset: instruction for instruction in dis.get_instructions(code)}
        for instr in lower(CodeUnit.from_code(code)).instrs:
            there = by_offset[instr.offset]
            if instr.op in NAMED:
                assert instr.arg == there.argval
            elif instr.op == ops.LOAD_CONST and not isinstance(instr.arg, CodeUnit):
                assert instr.arg is there.argval
            elif instr.op in (ops.COMPARE, ops.BINARY):
                assert instr.arg in (there.argval, there.argrepr)


def only(version: str, text: str) -> CodeUnit:
    """The single function that ``text`` defines."""
    return next(const for const in compiled_text(version, text).consts if isinstance(const, CodeUnit))


def shape(unit: CodeUnit) -> list[str]:
    return [instr.op for instr in lower(unit).instrs]


SAMPLES = {
    "await": ("async def f(x):\n    return await x\n", [ops.LOAD_FAST, ops.GET_AWAITABLE, ops.DELEGATE, ops.RETURN]),
    "yield from": (
        "def f(x):\n    return (yield from x)\n",
        [ops.LOAD_FAST, ops.GET_YIELD_FROM_ITER, ops.DELEGATE, ops.RETURN],
    ),
    "keywords": (
        "def f(g, x):\n    return g(1, a=x)\n",
        [ops.LOAD_FAST, ops.LOAD_CONST, ops.LOAD_FAST, ops.CALL, ops.RETURN],
    ),
    "slice": (
        "def f(x, y):\n    return x[y:y]\n",
        [ops.LOAD_FAST, ops.LOAD_FAST, ops.LOAD_FAST, ops.BUILD_SLICE, ops.SUBSCR, ops.RETURN],
    ),
    "closure": (
        "def f(x):\n    return lambda: x\n",
        [ops.LOAD_CLOSURE, ops.BUILD_TUPLE, ops.LOAD_CONST, ops.MAKE_FUNCTION, ops.RETURN],
    ),
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", SAMPLES)
def test_one_shape_for_all(name: str, version: str) -> None:
    """What the compiler writes differently in each version comes out the same."""
    text, expected = SAMPLES[name]
    found = [op for op in shape(only(version, text)) if op not in (ops.NULL, ops.SET_FUNCTION_ATTRIBUTE)]
    assert found == expected


@pytest.mark.parametrize("version", ("3.12", "3.13", "3.14", "3.15"))
def test_inlined_comprehension(version: str) -> None:
    unit = only(version, "def f(x):\n    y = 1\n    return [x + y for x in y]\n")
    found = shape(unit)
    assert found.count(ops.LOAD_FAST_CLEAR) == 1
    assert found.count(ops.RESTORE_FAST) == 2, "at the end and in the handler"
    assert found.count(ops.STORE_FAST) == 2, "y and the loop variable"


def unit_of(code: bytes, **changes: object) -> CodeUnit:
    """A hand-made 3.11 unit."""
    fields: dict[str, object] = {
        "version": (3, 11), "name": "f", "qualname": "f", "filename": "", "firstlineno": 1, "argcount": 0,
        "posonlyargcount": 0, "kwonlyargcount": 0, "nlocals": 0, "stacksize": 4, "flags": 3, "code": code,
        "consts": (None,), "names": (), "varnames": (), "cellvars": (), "freevars": (), "linetable": b"",
        "exctable": b"",
    }  # fmt: skip
    return CodeUnit(**(fields | changes))  # type: ignore[arg-type]


LOAD_CONST, RETURN_VALUE, POP_TOP, LOAD_FAST, JUMP_FORWARD, EXTENDED_ARG = 100, 83, 1, 124, 110, 144
HOSTILE = {
    "empty": b"",
    "odd length": bytes((LOAD_CONST, 0, RETURN_VALUE)),
    "falls off": bytes((LOAD_CONST, 0)),
    "underflow": bytes((RETURN_VALUE, 0)),
    "constant": bytes((LOAD_CONST, 9, RETURN_VALUE, 0)),
    "local": bytes((LOAD_FAST, 0, RETURN_VALUE, 0)),
    "jump out": bytes((JUMP_FORWARD, 200, LOAD_CONST, 0, RETURN_VALUE, 0)),
    "jump to the end": bytes((JUMP_FORWARD, 2, LOAD_CONST, 0, RETURN_VALUE, 0)),
    "unknown opcode": bytes((255, 0, LOAD_CONST, 0, RETURN_VALUE, 0)),
    "only a prefix": bytes((EXTENDED_ARG, 1)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile(name: str) -> None:
    with pytest.raises(BytecodeError):
        lower(unit_of(HOSTILE[name]))


def test_hostile_exception_table() -> None:
    code = bytes((LOAD_CONST, 0, RETURN_VALUE, 0))
    for table in (b"\x40", b"\x80\x02\x3f\x00", b"\xff" * 50):
        with pytest.raises(BytecodeError):
            lower(unit_of(code, exctable=table))


def test_handler_that_is_never_entered() -> None:
    """Nothing raises to it: that it wants more of the stack than there is does not matter, unless something does."""
    deep = b"\x80\x02\x00\x3f"
    assert all(
        instr.handler < 0 for instr in lower(unit_of(bytes((LOAD_CONST, 0, RETURN_VALUE, 0)), exctable=deep)).instrs
    )
    with pytest.raises(BytecodeError):
        lower(unit_of(bytes((LOAD_FAST, 0, RETURN_VALUE, 0)), exctable=deep))


def test_mutated_code_never_crashes() -> None:
    """Flip every byte of some real functions, one at a time: lowered or refused, nothing else."""
    for code in code_objects("contextlib")[1:40:6]:
        unit = CodeUnit.from_code(code)
        known = {field.name: getattr(unit, field.name) for field in fields(CodeUnit)}
        for position in range(len(unit.code)):
            for flip in (1, 16, 255):
                changed = bytearray(unit.code)
                changed[position] ^= flip
                try:
                    lower(CodeUnit(**(known | {"code": bytes(changed)})))
                except BytecodeError:
                    pass


def test_no_host_opcodes() -> None:
    """Foreign bytecode is read from our own tables, never from the running interpreter's, which only ``listing`` asks:
    it writes down live code."""
    import ast

    source = Path(depyf.__file__).parent
    for path in source.rglob("*.py"):
        if path.relative_to(source).parts[0] in ("sources", "actions") or path.name == "listing.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                assert not {"dis", "opcode"} & {alias.name for alias in node.names}, path
            elif isinstance(node, ast.ImportFrom):
                assert node.module not in ("dis", "opcode"), path


def swapping(*, last: int = -1, method: str = "reverse", jump: bool = False) -> CodeUnit:
    """Code of 3.10 that returns ``a, b, c, d``, two of them swapped in the way of a program that has no SWAP."""
    module = compiled_text("3.10", "def f(a, b, c, d):\n    return a, b, c, d\n")
    unit = next(inner for inner in walk(module) if inner.name == "f")
    head = [("LOAD_FAST", place) for place in range(4)]
    swap = [
        ("BUILD_LIST", 3), ("DUP_TOP", 0), ("LOAD_CONST", 1), ("BINARY_SUBSCR", 0), ("ROT_THREE", 0), ("DUP_TOP", 0),
        ("ROT_THREE", 0), ("LOAD_CONST", 1), ("STORE_SUBSCR", 0), ("DUP_TOP", 0), ("LOAD_METHOD", 0), ("CALL_METHOD", 0),
        ("POP_TOP", 0), ("UNPACK_SEQUENCE", 3),
    ]  # fmt: skip
    if jump:  # into the middle, where the stack is the same
        swap.insert(1, ("JUMP_FORWARD", 0))
    opnames = spec_for((3, 10)).opnames
    instructions = [*head, *swap, ("BUILD_TUPLE", 4), ("RETURN_VALUE", 0)]
    code = bytes(byte for name, arg in instructions for byte in (opnames.index(name), arg))
    return replace(unit, code=code, consts=(None, last), names=(method,), stacksize=9)


def test_a_long_swap_is_a_swap() -> None:
    instrs = [(instr.op, instr.arg) for instr in lower(swapping()).instrs]
    assert instrs[4:] == [(ops.SWAP, 4), (ops.BUILD_TUPLE, 4), (ops.RETURN, None)]
    for other in (swapping(last=-2), swapping(last=True), swapping(method="sort"), swapping(jump=True)):
        assert ops.BUILD_LIST in {instr.op for instr in lower(other).instrs}
