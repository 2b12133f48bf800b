"""Printed types of values, read."""

from __future__ import annotations

import pytest

from depyf.run.graphs.value_types import PrintedTensor, printed_symbol, printed_tensor, tensor_type


def test_a_tensor_in_parts() -> None:
    assert printed_tensor("f32[2, s0*4][s0*4, 1]cuda:0") == PrintedTensor(
        "float32", ("2", "s0*4"), ("s0*4", "1"), "cuda:0", "", "f32[2, s0*4]"
    )
    assert printed_tensor("Parameter(bf16[3])") == PrintedTensor("bfloat16", ("3",), None, "", "Parameter", "bf16[3]")
    scalar = printed_tensor("i64[][]cpu")
    assert scalar is not None and (scalar.size, scalar.stride) == ((), ())


def test_a_comma_in_a_call_is_in_one_size() -> None:
    found = printed_tensor("f32[Max(1, s1), 2]")
    assert found is not None and found.size == ("Max(1, s1)", "2")
    typed = tensor_type("f32[Max(1, s1), 2]", {"s1": 3})
    assert typed is not None and typed.shape == (None, 2)


@pytest.mark.parametrize("text", ["", "Sym(s0)", "f33[2]", "f32", "f32[2", "x f32[2]"])
def test_no_tensor(text: str) -> None:
    assert printed_tensor(text) is None


def test_a_symbol() -> None:
    assert printed_symbol("Sym(2*s0)") == "2*s0" and printed_symbol("f32[2]") is None
