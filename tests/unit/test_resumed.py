"""Functions that begin in the middle, as Dynamo's resume functions do."""

from __future__ import annotations

import contextlib
import dis
import sys
import types

import pytest

from depyf.bytecode.assemble import Op, assemble, disassemble, table_of
from depyf.bytecode.handler_depths import with_one_depth
from depyf.bytecode.handlers import table_entries
from depyf.pipeline import decompile_code


def counting(first, a, n, g):
    while n > 0:
        g(a)
        n = n - 1
    return a


def resumed(function):
    """``function`` from behind the call of its first statement on, whose result is the first parameter."""
    ops = disassemble(function.__code__)
    behind = next(op for op in ops if op.name == "POP_TOP")
    start = [op for op in ops[:1] if op.name == "RESUME"]
    place = ops[0].position
    head = [Op(dis.opmap["LOAD_FAST"], 0, place), Op(dis.opmap["JUMP_FORWARD"], 0, place, behind)]
    return assemble(function.__code__, [*start, *head, *ops[len(start) :]])


def test_a_loop_that_is_entered_with_a_value_on_the_stack():
    code = resumed(counting)
    found = decompile_code(code, name="f")
    assert found.proven
    assert "__temp_" not in found.source and "g(a)" in found.source, found.source
    namespace = {}
    exec(found.source, namespace)
    for function in (types.FunctionType(code, {}), namespace["f"]):
        calls = []
        assert function(None, "a", 3, calls.append) == "a"
        assert calls == ["a", "a"]


def entering(a):
    with contextlib.suppress(a):
        a.b()
        a.c()
    return a


@pytest.mark.skipif(sys.version_info < (3, 11), reason="there are no tables of handlers before 3.11")
def test_entries_of_one_handler_at_two_depths():
    code = entering.__code__
    assert with_one_depth(code) is code
    entries = table_entries(code.co_exceptiontable)
    start, end, target, depth, lasti = entries[0]
    middle = next(i.offset for i in dis.get_instructions(code) if i.argval == "c") - 2
    assert start < middle < end
    torn = [(start, middle, target, depth + 1, lasti), (middle, end, target, depth, lasti), *entries[1:]]
    mended = with_one_depth(code.replace(co_exceptiontable=table_of(torn)))
    assert [entry[3] for entry in table_entries(mended.co_exceptiontable)] == [depth, *[entry[3] for entry in entries]]
    assert decompile_code(mended).source == decompile_code(code).source
