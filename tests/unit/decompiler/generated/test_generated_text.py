"""The text of code that a program wrote: what is bound inside an expression stays there where others wait for it."""

from __future__ import annotations

import textwrap
import types

import pytest

from depyf.decompiler.driver.pipeline import decompile_code
from depyf.decompiler.generated.contract import GeneratorContract
from depyf.decompiler.idioms.dead_temporaries import drop_dead_temporaries
from depyf.decompiler.idioms.release import release_temporaries
from depyf.decompiler.ir.expr import Const, Invoke, Name, Temp
from depyf.decompiler.ir.stmt import Assign, Delete, ExprStmt, If, Return, Try
from depyf.decompiler.options import Options

PROMISES = {"stable": ("__import_",), "fixed": ("__import_torch_dot__dynamo_",), "reads_first": True}


def text_of(body):
    module = compile("def f(x, y):\n" + textwrap.indent(body, "    "), "<test>", "exec")
    code = next(const for const in module.co_consts if isinstance(const, types.CodeType))
    added = frozenset(name for name in code.co_varnames if name.startswith("tmp_"))
    promises = GeneratorContract(variables=added, **PROMISES)
    made = decompile_code(code, options=Options(generated=True, temp_prefix="value_", promises=promises))
    assert made.proven, made.source
    return made.source


def test_entries_of_a_dict_that_calls_make():
    """Each call waits for the ones before it: the last one must stay inside for the others to get there."""
    text = text_of(
        "tmp_1 = table.D({(tmp_2 := (tmp_7 := __import_torch_dot__dynamo_u.k)(y, 0)): (tmp_8 := __import_torch_dot__dynamo_u.i)(y, tmp_2), "
        "tmp_7(y, 1): x, (tmp_3 := tmp_7(y, 2)): tmp_8(y, tmp_3)})\nreturn tmp_1"
    )
    assert "D({k_result: i(y, k_result), k(y, 1): x, (i_argument := k(y, 2)): i(y, i_argument)})" in text
    assert "    k_result = k(y, 0)\n" in text and "value_" not in text


@pytest.mark.parametrize(
    "text",
    [
        "[x for j in y]",
        "{i: x for i in y}",
        "[f([], [j]) for j in y if j]",
        "{i: [f(x, i, j) for j in y] for i in y}",
        "[k for j in y for k in j]",
    ],
)
def test_comprehensions_in_functions_of_the_program(text):
    """Dynamo of torch 2.6 makes a resume function with free variables inside of its own code."""
    assert f"        return {text}\n" in text_of(f"def rest(x):\n    return {text}\nreturn rest(x)")


def test_a_variable_that_nothing_waits_for_has_a_line_of_its_own():
    text = text_of("tmp_1 = y((tmp_2 := x(0)), tmp_2)\nreturn tmp_1, tmp_2")
    assert "x_result = x(0)" in text and ":=" not in text


def test_copies_around_a_block_that_is_protected():
    """A handler that binds no name hides no variable: what stands for a parameter goes."""
    text = text_of("tmp_2 = f((tmp_1 := x), tmp_1)\ntry:\n    y(tmp_2)\nfinally:\n    g()\nreturn tmp_2")
    assert "f(x, x)" in text and "tmp_1" not in text


def test_a_temporary_that_a_protected_block_binds_anew_is_released_before():
    """An exception leaves the block through its ``finally``: nothing reads there what the block binds first."""
    one, call = Temp(1), Invoke(Name("f", "global"), ())
    block = Try((Assign((one,), call),), (), (), (ExprStmt(call),))
    body = (Assign((one,), call), ExprStmt(Invoke(Name("g", "global"), (one,))), block, Return(one))
    released = release_temporaries(body, in_try=True)
    assert [type(stmt).__name__ for stmt in released] == ["Assign", "ExprStmt", "Delete", "Try", "Return"]
    reads = (body[0], body[1], Try((Assign((one,), call),), (), (), (ExprStmt(one),)), Return(one))
    assert not any(isinstance(stmt, Delete) for stmt in release_temporaries(reads, in_try=True))


def test_an_arm_that_says_nothing():
    """torch 2.15 puts None on the stack in both arms of its question about the profiler, and takes it off after them."""
    stmt = If(
        Name("x", "fast"), (ExprStmt(Invoke(Name("f", "global"), ())), none := Assign((Temp(1),), Const(None))), (none,)
    )
    (left,) = drop_dead_temporaries((stmt,))
    assert isinstance(left, If) and len(left.body) == 1 and not left.orelse
