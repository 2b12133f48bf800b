"""Transformed code without torch's bookkeeping is Python, and does what it did."""

from __future__ import annotations

import ast

import pytest

from depyf.actions.export.texts.transformed_text import rewrite

UTILS = "__import_torch_dot__dynamo_dot_utils"
FLAG = "__import_torch_dot_autograd_dot_profiler._is_profiler_enabled"


def rewritten(body: str) -> list[str]:
    """The lines of the package's function, without its ``def``."""
    lines = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    done = rewrite(f"def __transformed_code_0_0_for_f(x, y):\n{lines}", "f_0_0", {}, {})
    ast.parse(done.text)
    assert "bookkeeping" not in done.text and "record_pregraph" not in done.text
    return [line[4:] for line in done.text.split("\n")[1:]]


def test_the_variables_that_bookkeeping_alone_uses_go_with_it():
    assert rewritten(f"""
flag = {FLAG}
entered = None
if flag:
    entered = {UTILS}.record_pregraph_bytecode_enter()
if entered is not None:
    {UTILS}.record_pregraph_bytecode_exit(entered)
return x
""") == ["return x"]  # fmt: skip


def test_a_variable_that_the_program_reads_stays():
    assert rewritten(f"""
entered = None
entered = {UTILS}.record_pregraph_bytecode_enter()
{UTILS}.record_pregraph_bytecode_exit(entered)
return entered
""") == ["entered = None", "return entered"]  # fmt: skip


@pytest.mark.parametrize(
    "test",
    ["x", "x > 0", "y.ready", "not x", "x == None", "x()"],
)
def test_a_test_that_may_do_something_is_still_made(test):
    assert rewritten(f"""
if {test}:
    {UTILS}.record_pregraph_bytecode_exit(y)
return x
""") == [f"if {test}:", "    pass", "return x"]  # fmt: skip


def test_a_value_that_the_program_computes_is_still_computed():
    assert rewritten(f"""
entered = x()
{UTILS}.record_pregraph_bytecode_exit(entered)
return x
""") == ["entered = x()", "return x"]  # fmt: skip


@pytest.mark.parametrize(
    ("header", "after"),
    [
        ("for z in x:", ""),
        ("while x():", ""),
        ("with x:", ""),
        ("try:", "finally:\n    y()"),
        ("try:", "except ValueError:\n    y()"),
        ("def g():", ""),
    ],
)
def test_a_block_that_is_left_out_leaves_pass(header, after):
    lines = rewritten(f"{header}\n    {UTILS}.record_pregraph_bytecode_exit(y)\n{after}\nreturn x")
    assert lines[:2] == [header, "    pass"]


def test_else_and_finally_without_the_rest():
    exit_call = f"{UTILS}.record_pregraph_bytecode_exit(y)"
    assert rewritten(f"""
if x:
    y()
else:
    {exit_call}
try:
    y()
finally:
    {exit_call}
return x
""") == ["if x:", "    y()", "else:", "    pass", "try:", "    y()", "finally:", "    pass", "return x"]  # fmt: skip


def test_a_declared_global_alone_in_a_block():
    assert rewritten("if x:\n    global z\nreturn y") == ["if x:", "    pass", "return y"]


def test_an_if_within_an_if_goes_as_a_whole():
    assert rewritten(f"""
flag = {FLAG}
if flag:
    if x is None:
        {UTILS}.record_pregraph_bytecode_exit(None)
return y
""") == ["return y"]  # fmt: skip


SOURCE = """# a head
def __transformed_code_0_0_for_f(x):
    if 0: shared = lambda: (a, y)  # never runs: makes a, y shared with other functions
    y = __const_0 + x  # odd name.py:3, __cell_y: the cell that holds y
    a = "# b.py:9"  # b.py:9: what another wrote
    return y  # odd name.py:4
"""


def in_a_package(**more):
    return rewrite(SOURCE, "f", {}, {}, **more).text.splitlines()


def test_a_line_has_the_place_that_the_record_has_and_no_other_remark():
    assert in_a_package(
        lines=((4, "odd name.py:3"), (6, "odd name.py:4")), definitions=("__const_0 = float('nan')",)
    ) == [
        "def f(x):",
        "    if 0: shared = lambda: (a, y)  # never runs: makes a, y shared with other functions",
        "    y = float('nan') + x  # odd name.py:3",
        '    a = "# b.py:9"',
        "    return y  # odd name.py:4",
    ]


def test_of_a_text_that_was_edited_no_line_is_known():
    assert in_a_package()[2:] == ["    y = hooks.const_0 + x", '    a = "# b.py:9"', "    return y"]
