"""Made-up inputs for the block that runs a graph's page."""

from __future__ import annotations

import pytest

from depyf.run.graphs.sample_run import sample_value


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("Sym(s23)", "12"),
        ("Sym(s99)", "8"),
        ("Sym(3)", "3"),
        ("Sym((s23//4))", "3"),
        ("Sym(((s23//4))*((s25//4)) + 1)", "10"),
        ("Sym(Max(1, u0))", "8"),
        (
            "f32[2, ((s23//4)) + 1][1, 2]cpu",
            "torch.randn([8], dtype=torch.float32).as_strided([2, ((12//4)) + 1], [1, 2])",
        ),
        ("f32[2, ((s23//4)) + 1][((s23//4)) + 1, 1]cpu", "torch.randn([2, ((12//4)) + 1], dtype=torch.float32)"),
        ("f32[2, 1, 3][3, 7, 1]cuda:0", "torch.randn([2, 1, 3], dtype=torch.float32, device='cuda:0')"),
        ("i64[4, 3][0, 1]cpu", "torch.zeros([3], dtype=torch.int64).as_strided([4, 3], [0, 1])"),
        ("f32[0, 3][1, 5]cpu", "torch.randn([0, 3], dtype=torch.float32)"),
        ("f32[]", "torch.randn([], dtype=torch.float32)"),
        ("f8e4m3fn[2][1]cpu", "torch.randn([2]).to(torch.float8_e4m3fn)"),
        ("f32[Max(1, u0)][1]cpu", None),
    ],
)
def test_sizes_that_are_made_of_symbols(kind, value):
    found = sample_value(kind, symbols={"s23": 12, "s25": 12})
    if value is not None and value.isdigit():
        assert found is not None and eval(found) == int(value)
    else:
        assert found == value
