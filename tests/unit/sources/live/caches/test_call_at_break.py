"""What Dynamo's code calls where a graph ends, on code of the forms that Dynamo writes."""

from __future__ import annotations

import types
from typing import Any

import pytest

from depyf.sources.live.caches.call_at_break import call_at_break

FORMS = {
    # the body of the code: the source of what is called, and whether its value is returned
    "return __resume_at_4_1([], [], self._modules['layers']._modules['1'](x))": (
        "L['self']._modules['layers']._modules['1']", False),
    "y = __compiled_fn_1(x)\n    return self._modules['mlp'](y[0])": ("L['self']._modules['mlp']", True),
    "m = self._modules['mlp']\n    y = __compiled_fn_1(x)\n    return __resume_at_4_1(m(y[0], scale=2))": (
        "L['self']._modules['mlp']", False),
    "if x is None: f()\n    y = __compiled_fn_1(x)\n    return self._modules['mlp'](y[0])": ("L['self']._modules['mlp']", True),
    "return __resume_at_4_1(models[0](*x, **k), x)": ("G['models'][0]", False),
    "return __resume_at_4_1(self.helper(x, 1), x)": ("L['self'].helper", False),
    "return __resume_at_4_1((self, k)[x](x))": ("", False),
    "return __resume_at_4_1(__builtins_dict__1['print'](x))": ("G['__builtins_dict__1']['print']", False),
}  # fmt: skip


@pytest.mark.parametrize("body", FORMS)
def test_the_call_is_found(body: str) -> None:
    scope: dict[str, Any] = {}
    exec(f"def f(self, x, k):\n    {body}\n", scope)
    found = call_at_break(scope["f"].__code__)
    assert found is not None and (found.source, found.returned) == FORMS[body]
    assert found.line == len(body.splitlines()) + 1


@pytest.mark.parametrize(
    "body",
    [
        "y = __compiled_fn_1(x)\n    return self(y) if y else f(y)",
        "return __compiled_fn_1(x)[0]",
        "return __resume_at_4_1(x)",
        "return x",
        "return (self if x else f)(x)",
    ],
)
def test_there_is_none(body: str) -> None:
    scope: dict[str, Any] = {}
    exec(f"def f(self, x):\n    {body}\n", scope)
    assert call_at_break(scope["f"].__code__) is None


def test_a_closure() -> None:
    def outer(model: Any) -> types.CodeType:
        def f(x: Any) -> Any:
            return model.layers(x)

        return f.__code__

    found = call_at_break(outer(None))
    assert found is not None and found.source == "L['model'].layers"
