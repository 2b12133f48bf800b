"""Programs that torch traces with symbolic sizes stay what they are under ``prepare_debug``: same graph, same ranges, same guards."""

import re

import pytest
import torch
from torch._higher_order_ops.map import map as map_over
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim, export
from torch.fx.experimental.proxy_tensor import make_fx

import depyf

pytestmark = pytest.mark.torch


class Cond(torch.nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x.sin() * x.shape[0], lambda x: x.cos(), (x,))


class NestedCond(torch.nn.Module):
    def forward(self, x):
        def inner(y):
            return torch.cond(y.sum() > 1, lambda y: y[1:] * y.shape[0], lambda y: y[:-1] + 1, (y,))

        return torch.cond(x.sum() > 0, inner, lambda x: x[1:].cos(), (x,))


class While(torch.nn.Module):
    def forward(self, x):
        return while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y + 1), (torch.tensor(0), x))


class Scan(torch.nn.Module):
    def forward(self, x):
        scan = pytest.importorskip("torch._higher_order_ops.scan").scan
        return scan(lambda c, y: (c + y, c * y), torch.zeros_like(x[0]), x, dim=0)


class Map(torch.nn.Module):
    def forward(self, x):
        return map_over(lambda a, b: a.sin() + b, x, torch.ones(3))


class Flex(torch.nn.Module):
    def forward(self, x):
        from torch.nn.attention.flex_attention import flex_attention

        q = torch.cat([x] * 6, 1)[None, None, :, :16]
        return flex_attention(q, q, q, score_mod=lambda score, b, h, i, j: score + (i - j))


class Unbacked(torch.nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x.nonzero().float().sum() + x.sum(), lambda x: x.sum(), (x,))


MODULES = (Cond, NestedCond, While, Scan, Map, Flex, Unbacked)


def same_text(text):
    return re.sub(r"<eval_with_key>\.\d+|0x[0-9a-f]+", "_", str(text))


def environment(shapes):
    return len(shapes.guards), same_text(shapes.replacements), same_text(getattr(shapes, "var_to_range", ""))


def same_with_depyf(tmp_path, call):
    torch._dynamo.reset()
    plain = call()
    torch._dynamo.reset()
    with depyf.prepare_debug(tmp_path):
        recorded = call()
    assert recorded == plain
    return plain


@pytest.mark.parametrize("dim", ("AUTO", "DYNAMIC"))
@pytest.mark.parametrize("module", MODULES)
def test_export(tmp_path, module, dim):
    def call():
        made = export(module(), (torch.randn(4, 3),), dynamic_shapes=({0: getattr(Dim, dim)},), strict=False)
        made.module()(torch.randn(6, 3))  # it is dynamic
        return same_text(made.graph_module.print_readable(print_output=False)), same_text(made.range_constraints)

    found = same_with_depyf(tmp_path, call)
    assert "s" in found[1]


@pytest.mark.parametrize("module", MODULES)
def test_make_fx(tmp_path, module):
    def call():
        made = make_fx(module(), tracing_mode="symbolic")(torch.randn(4, 3))
        return same_text(made.print_readable(print_output=False)), environment(made.shape_env)

    same_with_depyf(tmp_path, call)


def recorded_environments(call):
    """The shape environments of the compilations in ``call``, as they are afterwards."""
    found = []

    def backend(gm, inputs):
        from torch._guards import TracingContext

        found.append(TracingContext.get().fake_mode.shape_env)
        return gm.forward

    call(backend)
    return [environment(shapes) for shapes in found]


def resized(x, n):
    y = x[n:] * x.shape[0]
    return y.sum() if y.shape[0] > 2 else y


def test_guards_of_dynamic_shapes(tmp_path):
    def call():
        def run(backend):
            compiled = torch.compile(resized, backend=backend, dynamic=True)
            compiled(torch.ones(8, 3), 2)
            compiled(torch.ones(9, 3), 3)
            compiled(torch.ones(4, 3), 3)

        return recorded_environments(run)

    assert same_with_depyf(tmp_path, call)


def test_sizes_known_at_run_time_only(tmp_path):
    def f(x):
        return x * 2 if x.numel() == 0 else x + x.shape[0]

    def call():
        def run(backend):
            x = torch.ones(5, 3)
            torch._dynamo.decorators.mark_unbacked(x, 0)
            torch.compile(lambda x: x * 2 + x.shape[0], backend=backend)(x)
            with torch._dynamo.config.patch(capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True):
                torch.compile(lambda x: x.nonzero() * 2, backend=backend)(torch.ones(3))
                torch.compile(lambda x: torch.zeros(x.item() + 2), backend=backend)(torch.tensor(3))

        return recorded_environments(run)

    assert same_with_depyf(tmp_path, call)


def test_nested_tensors(tmp_path):
    def call():
        def run(backend):
            nested = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=torch.jagged)
            torch.compile(lambda x: x.sin() * 2, backend=backend)(nested)

        return recorded_environments(run)

    assert same_with_depyf(tmp_path, call)


def test_dynamic_aot(tmp_path):
    def call():
        compiled = torch.compile(resized, backend="aot_eager", dynamic=True)
        results = [compiled(torch.ones(n, 3, requires_grad=True), 2).sum() for n in (8, 9, 4)]
        results[0].backward()
        return [result.tolist() for result in results]

    same_with_depyf(tmp_path, call)
