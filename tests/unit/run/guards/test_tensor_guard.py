"""What an expression of a tensor says of sizes and strides."""

from __future__ import annotations

from depyf.run.guards.kinds.tensor_guard import layout_of


def test_sizes_that_are_open_allow_any() -> None:
    text = "check_tensor(L['x'], 'Tensor', torch.float32, size=[None, 3], stride=[3, 1], requires_grad=False)"
    layout, fixed = layout_of(text), layout_of(text.replace("None", "7"))
    assert layout is not None and fixed is not None
    assert (layout.tensor, layout.sizes, layout.strides) == ("L['x']", (None, 3), (3, 1))
    assert layout.allows(fixed) and not fixed.allows(layout)
    assert not layout.allows(layout_of(text.replace("float32", "float64"))) and not layout.allows(None)


def test_other_expressions_have_no_layout() -> None:
    assert layout_of("type_is(L['x'], 'check_tensor')") is None
    scalar = layout_of("check_tensor(L['x'], 'Tensor', torch.float32, size=[], stride=[])")
    assert scalar is not None and scalar.sizes == ()
