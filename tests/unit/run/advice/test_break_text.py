"""What torch's report of a graph break names."""

from __future__ import annotations

from dataclasses import replace

import pytest

from depyf.run.advice.break_text import (
    asked_by,
    break_number,
    deciding_random,
    logger_method,
    method_left_behind,
    named_builtin,
    named_function,
    named_manager,
    names_optimizer,
    skipped_because,
    skips_torch,
)
from depyf.run.advice.for_breaks import BreakFacts, for_break
from depyf.run.installed_files import Owner


def test_names_are_those_between_the_words() -> None:
    assert named_builtin("does not know how to trace builtin operator `print` with") == "print"
    assert named_manager("tried to enter a `Locked` context manager that") == "Locked"
    assert named_function("<function outer.<locals>.inner at 0x7f>") == "inner"
    assert named_function("the function `time.sleep`.") == "time.sleep"
    assert logger_method("context: method: Logger.debug, args: []") == "debug"
    assert skipped_because("(reason: it is a lambda)") == "it is a lambda" and skipped_because("(reason: None)") == ""
    kind = "sourceless variable UserMethodVariable(<function Meter.update>, UserDefinedObjectVariable(Meter))"
    assert method_left_behind(kind) == "update" and method_left_behind(kind.replace("Method", "Function")) == ""
    assert break_number("https://site/gb/gb0170.html") == "GB0170" and break_number("gb.html") == ""
    assert asked_by("", "", "call_method TensorVariable() item [] {}") == "Tensor.item"
    for empty in (named_builtin, named_manager, named_function, logger_method):
        assert empty("nothing of the kind") == ""


def test_whose_code_it_is() -> None:
    assert names_optimizer("/env/torch/optim/sgd.py", "", "")
    assert not names_optimizer("/a/optim.py", "", "User code traceback:\n /env/torch/optim/sgd.py")
    assert skips_torch("x\n  Developer debug context: module: torch._C, qualname: f")
    assert not skips_torch("  Developer debug context: module: torchvision.ops")


def facts(reason: str, number: str = "", explanation: str = "") -> BreakFacts:
    return BreakFacts(reason, explanation, (), "/a/train.py", Owner.PROGRAM, "f(x)", "", number=number)


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        ("GB0025", "Call to `torch._dynamo.graph_break()`"),
        ("GB0123", "Unsupported Tensor.backward() call"),
        ("GB0170", "Data-dependent branching"),
        ("GB0264", "Attempted to use `torch.nn.Parameter()` constructor with Dynamo"),
    ],
)
def test_the_number_decides_whatever_the_words_become(number: str, reason: str) -> None:
    known = for_break(facts(reason))
    assert known and for_break(facts("other words of another torch", number)) == known
    assert for_break(facts("other words of another torch")) == ()


def test_words_count_where_the_number_is_unknown_or_of_what_came_later() -> None:
    known = for_break(facts("Call to `torch._dynamo.graph_break()`"))
    assert for_break(facts("Call to `torch._dynamo.graph_break()`", "GB9999")) == known
    later = facts("Call of a value (delayed)", "GB0170", "It waits. Reason: Call to `torch._dynamo.graph_break()`")
    assert for_break(later) == known


DRAWN = """Graph break in user code at /p.py:3
      The branch condition involves a tensor computed as follows:
        # File "/p.py", line 3, in f, code: return x * 2 if {code} < {other} else x
        random_value_0: graph input (random_value_0)
    
        # File "/p.py", line 3, in f, code: return x * 2 if {code} < {other} else x
        {input}
"""  # noqa: W293


@pytest.mark.parametrize("code", ["random.random()", "random.uniform(0, 1)", "r.random.randint(1, 2)"])
def test_a_random_number_that_decides_alone(code):
    text = DRAWN.format(code=code, other="0.5", input="lt = lt(random_value_0, 0.5)")
    assert deciding_random(text) == code.partition("(")[0]
    with_tensor = DRAWN.format(code=code, other="x", input="l_x_: graph input (L_x_)")
    assert deciding_random(with_tensor) == "" and deciding_random("Graph break in user code at /p.py:3") == ""


def test_the_body_of_a_loop_that_is_one_call_is_a_function_already() -> None:
    broke = facts("Data-dependent branching", "GB0170")
    assert [one.id for one in for_break(broke, in_loop=True)][-1] == "loop-body"
    assert for_break(replace(broke, body_is_call=lambda: True), in_loop=True) == for_break(broke)
