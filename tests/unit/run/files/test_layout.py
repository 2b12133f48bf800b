"""Names of files in a dump."""

from __future__ import annotations

from depyf.run.files.layout import kernel_file
from depyf.run.records import CompileKey, GraphRecord


def test_names_of_kernels_that_fuse_much():
    """They stay below what a file system takes, and apart."""
    wrapper = GraphRecord(CompileKey(0, "0/0"), "kernel", 1, "")
    assert kernel_file(wrapper, "cpp_fused_add_0", "cpp") == "__compiled_fn_0_0.kernel_1.cpp_fused_add_0.cpp"
    fused = "cpp_fused_" + "_convolution_backward" * 20
    names = [kernel_file(wrapper, f"{fused}_{number}", "cpp") for number in range(3)]
    assert len(set(names)) == 3 and all(len(name) == 250 for name in names)
    assert all(name.startswith(f"__compiled_fn_0_0.kernel_1.{fused[:150]}") and name.endswith(".cpp") for name in names)
