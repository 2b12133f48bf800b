"""The text of a wrapper -> how much it has allocated at once."""

from __future__ import annotations

from depyf.run.memory.allocation_plan import allocation_plan


def plan(body: str, symbols=None, given=None, types=None):
    text = "import torch\n\nclass Runner:\n    def call(self, args):\n" + "".join(
        f"        {line}\n" for line in body.strip().splitlines()
    )
    return allocation_plan(text + "\nrunner = Runner()\n", symbols or {}, given or {}, types or {})


def test_buffers_that_are_alive_at_once():
    found = plan("""
a, = args
args.clear()
buf0 = empty_strided_cpu((4, 8), (8, 1), torch.float32)
buf1 = empty_strided_cpu((4, 8), (8, 1), torch.float32)  # File: m.py:3 in f
del buf0
buf2 = empty_strided_cuda((4, ), (1, ), torch.float64)
return (buf1, buf2, )
""")
    assert found is not None and (found.peak, found.total, found.buffers) == (256, 288, 3)


def test_reuse_keeps_the_memory():
    found = plan(
        """
buf0 = empty_strided_cpu((s0, 8), (8, 1), torch.float16)
buf1 = reinterpret_tensor(buf0, (8, s0), (1, 8), 0); del buf0  # reuse
buf2 = buf1; del buf1  # reuse
buf3 = empty_strided_cpu((s0, 8), (8, 1), torch.float16)
del buf2
buf4 = empty_strided_cpu((s0, 8), (8, 1), torch.float16)
""",
        {"s0": 10},
    )
    assert found is not None and (found.peak, found.buffers, found.reused) == (320, 3, 2)


def test_a_backward_holds_what_it_is_given_until_it_deletes_it():
    body = """
exp, tangents_1 = args
buf0 = empty_strided_cpu((10, ), (1, ), torch.float32)
del exp
del tangents_1
buf1 = empty_strided_cpu((100, ), (1, ), torch.float32)
"""
    found = plan(body, given={"exp": 1000, "tangents_1": 40})
    assert found is not None and (found.peak, found.total) == (1080, 440)


def test_operators_that_allocate_themselves():
    body = """
buf0 = extern_kernels.convolution(a, b, stride=(1, 1))
assert_size_stride(buf0, (2, 4), (4, 1), 'torch.ops.aten.convolution.default')
buf1 = torch.ops.aten.sort.stable(a)
buf2 = buf1[0]
"""
    found = plan(body, types={(2, 4): "float32"})
    assert found is not None and (found.peak, found.unknown) == (32, ("aten.sort.stable",))
    found = plan(body)
    assert found is not None and found.unknown == ("convolution", "aten.sort.stable")


def test_what_is_no_plan():
    assert allocation_plan("x = 1\n", {}, {}, {}) is None
    assert allocation_plan("def call(args):\n    return ()\n", {}, {}, {}) is None
    assert plan("buf0 = empty_strided_cpu((((((") is None


def test_several_results_of_one_operator():
    body = """
buf0 = torch.ops.aten.convolution_backward.default(a, b)
buf1 = buf0[1]
assert_size_stride(buf1, (2, 4), (4, 1), 'torch.ops.aten.convolution_backward.default')
buf2 = buf0[2]
assert_size_stride(buf2, (4, ), (1, ), 'torch.ops.aten.convolution_backward.default')
del buf0
"""
    found = plan(body, types={(2, 4): "float32", (4,): "float32"})
    assert found is not None and (found.peak, found.buffers, found.unknown) == (48, 2, ())
