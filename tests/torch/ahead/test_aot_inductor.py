"""What AOTInductor compiles for a package: its graphs and its C++ under a name of their own."""

from __future__ import annotations

import ast

import pytest
import torch

import depyf
from depyf.run.store.loading import load
from depyf.sources.live.ahead.work_names import WorkNames
from depyf.sources.reports.cpp_texts import as_python
from depyf.views.pages.kernels import kernels_in

pytestmark = pytest.mark.torch
CPP = """#include <torch/csrc/inductor/cpp_prefix.h>
extern "C"  void  cpp_fused_0(float* out)
{
    out[0] = '\\0';
}
"""


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu() + 1


@pytest.mark.parametrize("text", [CPP, CPP + "// '''\n", CPP + "// a path ends in \\"])
def test_the_text_is_python_that_holds_the_cpp_to_the_letter(text):
    made = as_python("inductor_aot_kernel_code", text)
    (assigned,) = ast.parse(made).body
    assert ast.literal_eval(assigned.value).strip("\n") == text.strip("\n")
    assert [kernel.name for kernel in kernels_in(made, "kernel_0.py")] == ["cpp_fused_0", "cpp_wrapper"]


def test_other_texts_stay_as_they_are():
    assert as_python("inductor_output_code", CPP) == CPP


def test_a_number_that_is_used_again_is_other_work():
    names = WorkNames()
    assert [names.name(7, "aoti"), names.name(7, "aoti"), names.name(7, "aoti")] == ["aoti0/0"] * 3
    names.let_go(7)
    assert [names.name(7, "aoti"), names.name(8, "loaded")] == ["aoti1/0", "loaded0/0"]


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of torch, about itself
@pytest.mark.skipif(not hasattr(torch._inductor, "aoti_compile_and_package"), reason="a torch without packages")
def test_a_package_has_graphs_and_cpp(tmp_path):
    dump = tmp_path / "dump"
    with depyf.prepare_debug(str(dump)):
        exported = torch.export.export(Net(), (torch.ones(3),))
        torch._inductor.aoti_compile_and_package(exported, package_path=str(tmp_path / "net.pt2"))
    run = load(dump)
    assert {graph.key.text for graph in run.graphs if graph.stage == "AFTER_POST_GRAD"} == {"aoti0/0"}
    names = {path.name for path in dump.iterdir()}
    assert "__compiled_fn_aoti0_0.Forward_graph.0.py" in names
    assert any(name.endswith(".cpp") and "cpp_fused" in name for name in names)
    assert "__compiled_fn_aoti0_0.kernel_0.cpp_wrapper.cpp" in names
    index = (dump / "index.md").read_text()
    assert "compiled by AOTInductor for a package" in index
    assert "othing was compiled" not in index
    assert not [name for name in names if "unknown" in name]
