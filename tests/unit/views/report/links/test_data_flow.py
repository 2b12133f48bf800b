"""Where a compile cache answered and nothing is recorded, values tell what each generated kernel computes."""

from __future__ import annotations

from depyf.views.report.links.data_flow import computed_by_calls
from depyf.views.report.links.graph_lines import graph_lines
from depyf.views.report.links.kernel_calls import call_origins
from depyf.views.report.links.kernel_text import kernel_text
from depyf.views.report.links.wrapper_text import wrapper_text

NORM = """\
        var_mean{n} = torch.ops.aten.var_mean.correction({x}, [1], correction = 0, keepdim = True)
        var{n}: "f32[4, 1][1, 1]cpu" = var_mean{n}[0]
        mean{n}: "f32[4, 1][1, 1]cpu" = var_mean{n}[1];  var_mean{n} = None
        rsqrt{n}: "f32[4, 1][1, 1]cpu" = torch.ops.aten.rsqrt.default(var{n})
        sub{n}: "f32[4, 8][8, 1]cpu" = torch.ops.aten.sub.Tensor({x}, mean{n})
        mul{n}: "f32[4, 8][8, 1]cpu" = torch.ops.aten.mul.Tensor(sub{n}, rsqrt{n})
        mm{n}: "f32[4, 8][8, 1]cpu" = torch.ops.aten.mm.default(mul{n}, primals_2)
        add{n}: "f32[4, 8][8, 1]cpu" = torch.ops.aten.add.Tensor({x}, mm{n})
"""
GRAPH = (
    'class GraphModule(torch.nn.Module):\n    def forward(self, primals_1: "f32[4, 8][8, 1]cpu", primals_2: "f32[8, 8][8, 1]cpu"):\n'
    + "".join(NORM.format(n=n, x="primals_1" if n == 0 else f"add{n - 1}") for n in range(3))
    + "        return (add2,)\n"
)
"""Three times the same: what separates them is only where the values go."""
KERNEL = """\
extern "C" void kernel(float* in_out_ptr0,
                       const float* in_ptr0,
                       float* out_ptr1)
{
    auto out_ptr0 = in_out_ptr0;
    out_ptr0[x0] = static_cast<float>(tmp_acc0);
    auto tmp0 = out_ptr0[x0];
    in_out_ptr0[x0] = tmp1;
    out_ptr1[x0] = tmp2;
}
"""
ADDS = """\
extern "C" void kernel(float* in_out_ptr0,
                       float* in_out_ptr1,
                       const float* in_ptr0,
                       float* out_ptr1)
{
    auto out_ptr0 = in_out_ptr1;
    auto tmp0 = in_out_ptr0[x0];
    in_out_ptr0[x0] = tmp1;
    out_ptr0[x0] = static_cast<float>(tmp_acc0);
    auto tmp3 = out_ptr0[x0];
    in_out_ptr1[x0] = tmp3;
    out_ptr1[x0] = tmp2;
}
"""
LAST = """\
extern "C" void kernel(float* in_out_ptr0,
                       const float* in_ptr0)
{
    auto tmp0 = in_out_ptr0[x0];
    in_out_ptr0[x0] = tmp1;
}
"""
WRAPPER = """\
def call(self, args):
        primals_1, primals_2 = args
        args.clear()
        buf0 = empty_strided_cpu((4, 1), (1, 4), torch.float32)
        buf1 = empty_strided_cpu((4, 8), (8, 1), torch.float32)
        cpp_fused_norm_0(buf0, primals_1, buf1)
        buf2 = empty_strided_cpu((4, 8), (8, 1), torch.float32)
        extern_kernels.mm(buf1, primals_2, out=buf2)
        buf3 = buf2; del buf2  # reuse
        buf4 = buf0; del buf0  # reuse
        buf5 = empty_strided_cpu((4, 8), (8, 1), torch.float32)
        cpp_fused_add_norm_1(buf3, buf4, primals_1, buf5)
        buf6 = empty_strided_cpu((4, 8), (8, 1), torch.float32)
        extern_kernels.mm(buf5, primals_2, out=buf6)
        buf7 = buf6; del buf6  # reuse
        buf8 = buf4; del buf4  # reuse
        buf9 = empty_strided_cpu((4, 8), (8, 1), torch.float32)
        cpp_fused_add_norm_1(buf7, buf8, buf3, buf9)
        buf10 = empty_strided_cpu((4, 8), (8, 1), torch.float32)
        extern_kernels.mm(buf9, primals_2, out=buf10)
        buf11 = buf10; del buf10  # reuse
        cpp_fused_add_2(buf11, buf7)
        return (buf11, )
"""


def test_memory_used_again_is_not_read() -> None:
    assert "in_out_ptr0" in kernel_text(KERNEL).overwritten
    assert kernel_text(ADDS).overwritten == {"in_out_ptr1", "out_ptr1"}, "in_out_ptr0 is read before it is written"


def test_layers_that_are_alike_are_told_apart() -> None:
    kernels = {
        "cpp_fused_norm_0": kernel_text(KERNEL),
        "cpp_fused_add_norm_1": kernel_text(ADDS),
        "cpp_fused_add_2": kernel_text(LAST),
    }
    wrapper = wrapper_text(WRAPPER, frozenset(kernels))
    found = call_origins(wrapper, kernels, graph_lines(GRAPH), None)
    assert all(one.inferred for one in found)
    assert [set(one.nodes) for one in found] == [
        {"var_mean0", "rsqrt0", "sub0", "mul0"},
        {"mm0"},
        {"add0", "var_mean1", "rsqrt1", "sub1", "mul1"},
        {"mm1"},
        {"add1", "var_mean2", "rsqrt2", "sub2", "mul2"},
        {"mm2"},
        {"add2"},
    ]


PARTS = """\
class GraphModule(torch.nn.Module):
    def forward(self, a: "f32[4, 8][8, 1]cpu", b: "f32[4, 8][8, 1]cpu", w: "f32[16, 8][8, 1]cpu"):
        cos: "f32[4, 8][8, 1]cpu" = torch.ops.aten.cos.default(a)
        sin: "f32[4, 8][8, 1]cpu" = torch.ops.aten.sin.default(b)
        cat: "f32[4, 16][16, 1]cpu" = torch.ops.aten.cat.default([cos, sin], 1)
        mm: "f32[4, 8][8, 1]cpu" = torch.ops.aten.mm.default(cat, w)
        return (mm,)
"""
PARTS_WRAPPER = """\
def call(self, args):
        a, b, w = args
        buf2 = empty_strided_cpu((4, 16), (16, 1), torch.float32)
        buf0 = reinterpret_tensor(buf2, (4, 8), (16, 1), 0)  # alias
        buf1 = reinterpret_tensor(buf2, (4, 8), (16, 1), 8)  # alias
        cpp_fused_cat_0(a, b, buf0, buf1)
        del buf0
        buf3 = empty_strided_cpu((4, 8), (8, 1), torch.float32)
        extern_kernels.mm(buf2, w, out=buf3)
        return (buf3, )
"""


def test_what_is_written_part_by_part() -> None:
    wrapper = wrapper_text(PARTS_WRAPPER, frozenset({"cpp_fused_cat_0"}))
    read, written = [("a", "b"), ("buf2", "w")], [("buf0", "buf1"), ("buf3",)]
    assert computed_by_calls(wrapper, read, written, graph_lines(PARTS)) == [("cat", "cos", "sin"), ("mm",)]


IN_PLACE = """\
class GraphModule(torch.nn.Module):
    def forward(self, a: "f32[4][1]cpu", at: "i64[4][1]cpu", counter: "f32[4][1]cpu"):
        full: "f32[4][1]cpu" = torch.ops.aten.full.default([4], 0)
        cos: "f32[4][1]cpu" = torch.ops.aten.cos.default(a)
        scatter_add: "f32[4][1]cpu" = torch.ops.aten.scatter_add.default(full, 0, at, cos)
        sort = torch.ops.aten.sort.default(scatter_add)
        first: "f32[4][1]cpu" = sort[0]
        exp: "f32[4][1]cpu" = torch.ops.aten.exp.default(first)
        add: "f32[4][1]cpu" = torch.ops.aten.add.Tensor(counter, 1)
        copy_: "f32[4][1]cpu" = torch.ops.aten.copy_.default(counter, add)
        return (exp,)
"""
IN_PLACE_WRAPPER = """\
def call(self, args):
        a, at, counter = args
        buf0 = empty_strided_cpu((4, ), (1, ), torch.float32)
        buf1 = empty_strided_cpu((4, ), (1, ), torch.float32)
        cpp_fused_cos_0(a, buf0, buf1)
        aten.scatter_reduce_.two(buf0,0,at,buf1, reduce='sum', include_self=True)
        buf3 = torch.ops.aten.sort.default(buf0)
        buf4 = buf3[0]  # File: a.py:1 in f
        buf5 = buf4; del buf4  # reuse
        cpp_fused_exp_1(buf5, counter)
        return (buf5, )
"""


def test_operators_that_change_a_buffer_and_several_results() -> None:
    wrapper = wrapper_text(IN_PLACE_WRAPPER, frozenset({"cpp_fused_cos_0", "cpp_fused_exp_1"}))
    assert [call.in_place for call in wrapper.calls] == [False, True, False, False]
    read = [("a",), ("buf0", "at", "buf1"), ("buf0",), ("buf5", "counter")]
    written = [("buf0", "buf1"), ("buf0",), ("buf3",), ("buf5", "counter")]
    assert computed_by_calls(wrapper, read, written, graph_lines(IN_PLACE)) == [
        ("cos", "full"), ("scatter_add",), ("sort",), ("add", "copy_", "exp"),
    ]  # fmt: skip
