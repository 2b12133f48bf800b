"""Lines of a kernel and the operations that they compute: a sum is no addition, however it is written."""

from __future__ import annotations

from depyf.views.report.links.graph_lines import GraphNode
from depyf.views.report.links.kernel_lines import kernel_links
from depyf.views.report.links.kernel_text import kernel_text

KERNEL = """\
extern "C"  void  kernel(const float* in_ptr0, const float* in_ptr1, float* out_ptr0, float* out_ptr1)
{
    float tmp_acc0 = 0;
    tmp_acc0_vec = sum_masked_reduce(tmp_acc0_vec, tmp0, static_cast<int64_t>(10L));
    tmp_acc0 = tmp_acc0 + at::vec::vec_reduce_all<float, 1>([](Vectorized& x, Vectorized& y) { return x + y; }, tmp_acc0_vec);
    out_ptr0[0] = static_cast<float>(tmp_acc0);
    auto tmp0 = at::vec::Vectorized<float>::loadu(in_ptr1 + static_cast<int64_t>(x0), static_cast<int64_t>(10L));
    auto tmp1 = tmp0.abs();
    auto tmp2 = static_cast<float>(1.0);
    auto tmp3 = at::vec::Vectorized<float>(tmp2);
    auto tmp4 = tmp1 + tmp3;
    auto tmp5 = tmp0 / tmp4;
    tmp5.store(out_ptr1 + static_cast<int64_t>(x0), static_cast<int64_t>(10L));
}
"""
NODES = [
    GraphNode("abs_1", 1, ("arg0_1",), None, "aten.abs"),
    GraphNode("add", 2, ("abs_1",), None, "aten.add", constants=(1.0,)),
    GraphNode("div", 3, ("arg0_1", "add"), None, "aten.div"),
    GraphNode("sum_1", 4, ("arg1_1",), None, "aten.sum"),
]


def test_what_adds_up_is_the_sum() -> None:
    own = {"abs_1": frozenset({1}), "add": frozenset({1}), "div": frozenset({1}), "sum_1": frozenset({2})}
    found = kernel_links(KERNEL, kernel_text(KERNEL), [(NODES, frozenset({1, 2}))], own)
    assert {line: numbers for line, numbers in found.direct.items() if line > 1} == {
        4: {2},
        5: {2},
        8: {1},
        11: {1},
        12: {1},
    }
