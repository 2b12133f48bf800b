"""Wrappers and kernels as Inductor writes them for a GPU."""

from __future__ import annotations

from depyf.run.graphs.node_origins import KernelNodes
from depyf.views.report.links.graph_lines import graph_lines
from depyf.views.report.links.kernel_calls import call_origins
from depyf.views.report.links.kernel_lines import kernel_links
from depyf.views.report.links.kernel_text import kernel_text
from depyf.views.report.links.wrapper_text import wrapper_text

GRAPH = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[64, 64][64, 1]cuda:0", arg1_1: "f32[64, 64][64, 1]cuda:0"):
        # File: /p.py:4 in f, code: a = x @ y
        mm: "f32[64, 64][64, 1]cuda:0" = torch.ops.aten.mm.default(arg0_1, arg1_1);  arg0_1 = arg1_1 = None

        # File: /p.py:5 in f, code: b = torch.relu(a) * 0.5
        relu: "f32[64, 64][64, 1]cuda:0" = torch.ops.aten.relu.default(mm);  mm = None
        mul: "f32[64, 64][64, 1]cuda:0" = torch.ops.aten.mul.Tensor(relu, 0.5);  relu = None

        # File: /p.py:6 in f, code: return b.exp()
        exp: "f32[64, 64][64, 1]cuda:0" = torch.ops.aten.exp.default(mul);  mul = None
        return (exp,)
"""
WRAPPER = """\
triton_poi_fused_exp_mul_relu_0 = async_compile.triton('triton_poi_fused_exp_mul_relu_0', '''
...
''', device_str='cuda')


async_compile.wait(globals())
del async_compile

class Runner:
    def call(self, args):
        arg0_1, arg1_1 = args
        args.clear()
        assert_size_stride(arg0_1, (64, 64), (64, 1))
        with torch.cuda._DeviceGuard(0):
            torch.cuda.set_device(0)
            buf0 = empty_strided_cuda((64, 64), (64, 1), torch.float32)
            # Topologically Sorted Source Nodes: [a], Original ATen: [aten.mm]
            extern_kernels.mm(arg0_1, arg1_1, out=buf0)
            del arg0_1
            buf1 = buf0; del buf0  # reuse
            # Topologically Sorted Source Nodes: [relu, b, exp], Original ATen: [aten.relu, aten.mul, aten.exp]
            stream0 = get_raw_stream(0)
            triton_poi_fused_exp_mul_relu_0.run(buf1, 4096, stream=stream0)
        return (buf1, )

runner = Runner()
"""
KERNEL = """\
# Kernel triton_poi_fused_exp_mul_relu_0, called in __compiled_fn_0_0.kernel_0.py.
# Topologically Sorted Source Nodes: [relu, b, exp], Original ATen: [aten.relu, aten.mul, aten.exp]
# Source node to ATen node mapping:
#   b => mul
#   exp => exp
#   relu => relu
# Graph fragment:
#   %mm : Tensor "f32[64, 64][64, 1]cuda:0" = PlaceHolder[target=mm]
#   %relu : Tensor "f32[64, 64][64, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.relu.default](args = (%mm,), kwargs = {})
#   %mul : Tensor "f32[64, 64][64, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%relu, 0.5), kwargs = {})
#   %exp : Tensor "f32[64, 64][64, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.exp.default](args = (%mul,), kwargs = {})
#   return %exp
import triton
import triton.language as tl

@triton_heuristics.pointwise(size_hints={'x': 4096}, filename=__file__)
@triton.jit
def triton_poi_fused_exp_mul_relu_0(in_out_ptr0, xnumel, XBLOCK : tl.constexpr):
    xnumel = 4096
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    x0 = xindex
    tmp0 = tl.load(in_out_ptr0 + (x0), None)
    tmp1 = tl.full([1], 0, tl.int32)
    tmp2 = triton_helpers.maximum(tmp1, tmp0)
    tmp3 = 0.5
    tmp4 = tmp2 * tmp3
    tmp5 = tl_math.exp(tmp4)
    tl.store(in_out_ptr0 + (x0), tmp5, None)
"""
NAME = "triton_poi_fused_exp_mul_relu_0"


def test_a_kernel_says_its_nodes_itself() -> None:
    kernel = kernel_text(KERNEL)
    assert kernel.nodes == ("relu", "mul", "exp")
    assert kernel.parameters[0] == ("in_out_ptr0", True)


def test_calls_and_what_they_compute() -> None:
    wrapper = wrapper_text(WRAPPER, frozenset((NAME,)))
    assert [(call.kernel, call.callee) for call in wrapper.calls] == [("", "extern_kernels.mm"), (NAME, f"{NAME}.run")]
    assert wrapper.kernels == {NAME: 1}
    found = call_origins(wrapper, {NAME: kernel_text(KERNEL)}, graph_lines(GRAPH), None)
    assert [set(one.nodes) for one in found] == [{"mm"}, {"relu", "mul", "exp"}]


def test_a_kernel_without_comments_is_found_by_its_values() -> None:
    wrapper = wrapper_text(WRAPPER, frozenset((NAME,)))
    bare = KERNEL[KERNEL.index("import triton\n") :]
    found = call_origins(wrapper, {NAME: kernel_text(bare)}, graph_lines(GRAPH), None)
    assert [set(one.nodes) for one in found] == [{"mm"}, {"relu", "mul", "exp"}]


def test_instructions_belong_to_their_operations() -> None:
    nodes = graph_lines(GRAPH).nodes[1:]
    own = {node.name: frozenset((number,)) for number, node in enumerate(nodes)}
    links = kernel_links(KERNEL, kernel_text(KERNEL), [(nodes, frozenset((0, 1, 2)))], own)
    lines = KERNEL.split("\n")
    assert {lines[at - 1].strip(): numbers for at, numbers in links.direct.items() if "tmp" in lines[at - 1]} == {
        "tmp2 = triton_helpers.maximum(tmp1, tmp0)": {0},
        "tmp4 = tmp2 * tmp3": {1},
        "tmp5 = tl_math.exp(tmp4)": {2},
    }


OWN_GRAPH = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[4, 100][100, 1]cuda:0"):
        # File: /p.py:16 in f, code: h = torch.relu(x)
        relu: "f32[4, 100][100, 1]cuda:0" = torch.ops.aten.relu.default(arg0_1);  arg0_1 = None

        # File: /p.py:10 in call, code: y = torch.empty_like(x)
        empty: "f32[4, 100][100, 1]cuda:0" = torch.ops.aten.empty.memory_format([4, 100], dtype = torch.float32)

        # File: /p.py:11 in call, code: scale[(4,)](x, y, 400, 2.0, BLOCK=128)
        triton_kernel_wrapper_mutation_1 = torch.ops.higher_order.triton_kernel_wrapper_mutation(kernel_idx = 0, constant_args_idx = 1, grid = [(4, 1, 1)], tma_descriptor_metadata = {}, kwargs = {'x_ptr': relu, 'y_ptr': empty});  triton_kernel_wrapper_mutation_1 = None

        # File: /p.py:12 in call, code: scale[(4,)](y, y, 400, 2.0, BLOCK=128)
        triton_kernel_wrapper_mutation = torch.ops.higher_order.triton_kernel_wrapper_mutation(kernel_idx = 0, constant_args_idx = 2, grid = [(4, 1, 1)], tma_descriptor_metadata = {}, kwargs = {'x_ptr': empty, 'y_ptr': empty});  relu = triton_kernel_wrapper_mutation = None
        return (empty,)
"""
OWN_WRAPPER = """\
triton_poi_fused_relu_0 = async_compile.triton('triton_poi_fused_relu_0', '...')
scale_0 = async_compile.triton('scale', '...')

class Runner:
    def call(self, args):
        arg0_1, = args
        args.clear()
        buf0 = empty_strided_cuda((4, 100), (100, 1), torch.float32)
        buf1 = empty_strided_cuda((4, 100), (100, 1), torch.float32)
        # Topologically Sorted Source Nodes: [h, triton_kernel_wrapper_mutation_1], Original ATen: [aten.relu]
        stream0 = get_raw_stream(0)
        triton_poi_fused_relu_0.run(arg0_1, buf1, 400, stream=stream0)
        # Topologically Sorted Source Nodes: [h, triton_kernel_wrapper_mutation_1], Original ATen: [aten.relu]
        stream0 = get_raw_stream(0)
        scale_0.run(buf1, buf0, 400, 2.0, 4, 1, 1, stream=stream0)
        # Topologically Sorted Source Nodes: [triton_kernel_wrapper_mutation], Original ATen: []
        stream0 = get_raw_stream(0)
        scale_0.run(buf0, buf0, 400, 2.0, 4, 1, 1, stream=stream0)
        return (buf0, )
"""
OWN_KERNEL = """\
@triton_heuristics.user_autotune(
    configs=[],
    filename=__file__,
    custom_kernel=True,
)
@triton.jit
def scale(x_ptr, y_ptr, n, s, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i) * s)
"""


def test_a_kernel_of_the_program_is_one_operation() -> None:
    """torch's notes name the operations around it, too."""
    kernels = {"triton_poi_fused_relu_0": kernel_text(KERNEL), "scale_0": kernel_text(OWN_KERNEL)}
    wrapper = wrapper_text(OWN_WRAPPER, frozenset(kernels))
    graph = graph_lines(OWN_GRAPH)
    noted = (KernelNodes(("buf0",), ("empty",)), KernelNodes(("buf1",), ("relu", "triton_kernel_wrapper_mutation_1")))
    for recorded in (noted, ()):
        found = call_origins(wrapper, kernels, graph, recorded)
        assert [set(one.nodes) for one in found[1:]] == [
            {"triton_kernel_wrapper_mutation_1"},
            {"triton_kernel_wrapper_mutation"},
        ]
    assert set(call_origins(wrapper, kernels, graph, noted)[0].nodes) == {"relu"}
    launch = next(node for node in graph.nodes if node.name == "triton_kernel_wrapper_mutation")
    links = kernel_links(OWN_KERNEL, kernels["scale_0"], [([launch], frozenset((7,)))], {})
    assert [OWN_KERNEL.split("\n")[at - 1].split("(")[0].strip() for at in sorted(links.direct)] == ["def scale", "i = tl.program_id", "tl.store"]  # fmt: skip
