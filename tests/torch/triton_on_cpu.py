"""Make Inductor write Triton kernels for the CPU, which no Triton driver can compile: for Triton's interpreter only.

Imported by the programs of ``test_triton_kernels``; where there is a GPU, they use that instead.
"""

from __future__ import annotations

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Driver:
    """What Inductor asks about the target while it writes kernels."""

    def get_current_target(self) -> object:
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", 90, 32)

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cpu")

    def get_current_device(self) -> int:
        return 0

    def get_benchmarker(self) -> object:
        return None


if DEVICE == "cpu":
    import types

    import torch._inductor.config
    import triton.backends
    from triton.runtime import driver

    class Backend:
        """Of no use but to be there: for it Dynamo takes a call of a kernel that the user wrote into its graph, and torch
        2.15 asks which options of a launch are Triton's."""

        def __init__(self, target: object) -> None:
            pass

        @staticmethod
        def supports_target(target: object) -> bool:
            return getattr(target, "backend", "") == "cpu"

        def parse_options(self, options: dict[str, object]) -> types.SimpleNamespace:
            return types.SimpleNamespace(num_warps=4, num_stages=3, num_ctas=1, **options)

    triton.backends.backends.setdefault("cpu", types.SimpleNamespace(compiler=Backend))

    driver.set_active(Driver())
    torch._inductor.config.cpu_backend = "triton"
