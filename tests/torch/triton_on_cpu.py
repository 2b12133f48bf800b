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

    # Dynamo takes a call of a kernel that the user wrote into its graph where Triton has a backend for a device that is here
    nobody = types.SimpleNamespace(supports_target=lambda target: False)
    triton.backends.backends.setdefault("cpu", types.SimpleNamespace(compiler=nobody))

    driver.set_active(Driver())
    torch._inductor.config.cpu_backend = "triton"
