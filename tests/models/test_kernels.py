"""Kernels that are compiled together are those that Inductor would have compiled one by one."""

from __future__ import annotations

import torch
from torch._inductor.codecache import CppPythonBindingsCodeCache as Cache

from tools.torch.models import kernels

SOURCE = '#include <torch/csrc/inductor/cpp_prefix.h>\nextern "C"  void  kernel(const float* in_ptr0, float* out_ptr0, const int64_t n)\n{\n    for (int64_t at = 0; at < n; at++) out_ptr0[at] = in_ptr0[at] OP;\n}\n'
TYPES = ("const float*", "float*", "const int64_t")


def test_each_has_its_name_and_its_arguments():
    found = kernels.text([kernels.Kernel(TYPES, SOURCE), kernels.Kernel(TYPES[:2], SOURCE)], Cache.suffix_template)
    assert "void  kernel_0(" in found and "void  kernel_1(" in found and "void  kernel(" not in found
    assert "kernel_0(parse_arg<float*>(args, 0), parse_arg<float*>(args, 1), parse_arg<int64_t>(args, 2));" in found
    assert "kernel_1(parse_arg<float*>(args, 0), parse_arg<float*>(args, 1));" in found
    assert "requires 3 args" in found and "requires 2 args" in found
    assert found.count("PyInit_kernel(") == found.count("static PyMethodDef py_methods[]") == 1
    assert '{"kernel_0", kernel_0_py, METH_VARARGS, ""},{"kernel_1", kernel_1_py, METH_VARARGS, ""},' in found
    assert "{{" not in found


def test_served_from_one_library(monkeypatch):
    """What a wrapper asks for is there after its ``wait``, and does what its text says."""
    from torch._inductor.async_compile import AsyncCompile

    for name in ("cpp_pybinding", "wait"):
        monkeypatch.setattr(AsyncCompile, name, getattr(AsyncCompile, name))
    asked = []
    load = Cache.load_async
    monkeypatch.setattr(Cache, "load_async", lambda text: asked.append(text) or load(text))
    kernels.together()
    compiler = AsyncCompile()
    scope = {f"cpp_fused_{at}": compiler.cpp_pybinding(list(TYPES), SOURCE.replace("OP", f"+ {at}")) for at in range(3)}
    compiler.wait(scope)
    assert len(asked) == 1
    for at, function in enumerate(scope.values()):
        given, made = torch.ones(4), torch.zeros(4)
        function(given, made, 3)
        assert made.tolist() == [at + 1.0] * 3 + [0.0]
