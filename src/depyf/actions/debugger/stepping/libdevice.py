"""CUDA's libdevice for Triton's interpreter, which has no mathematics but NumPy's: each function by torch on the CPU.

Input: tensors of the interpreter (NumPy arrays with a Triton type) or numbers.  Output: a tensor of the interpreter, of
the type that libdevice returns: that of the first argument, 32-bit integers for questions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_NAMES = {
    "fabs": "abs", "nearbyint": "round", "rint": "round", "llrint": "round", "llround": "round",
    "fdim": "relu_difference", "finitef": "isfinite", "isfinited": "isfinite", "fma_rn": "fma", "sqrt_rn": "sqrt",
    "rsqrt_rn": "rsqrt", "fast_expf": "exp", "fast_logf": "log", "fast_sinf": "sin", "fast_cosf": "cos",
    "fast_tanf": "tan", "fast_powf": "pow", "fast_dividef": "true_divide", "div_rn": "true_divide",
    "cyl_bessel_i0": "i0", "cyl_bessel_i1": "i1",
    "j0": "bessel_j0", "j1": "bessel_j1", "y0": "bessel_y0", "y1": "bessel_y1", "tgamma": "gamma", "fmin": "fmin",
    "fmax": "fmax",
}  # fmt: skip
"""libdevice -> torch, where the names differ."""
_QUESTIONS = frozenset({"isinf", "isnan", "isfinite", "signbit"})


class _Libdevice:
    """``libdevice.NAME(x, ...)``."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        wanted = _NAMES.get(name, name)
        function = _SPECIAL.get(wanted) or _of_torch(wanted)
        if function is None:
            raise NotImplementedError(f"libdevice.{name}")
        integers = wanted in _QUESTIONS or name in ("ilogb", "llrint", "llround")
        return lambda *args, **_: _applied(function, args, integers, name.startswith("ll"))


LIBDEVICE = _Libdevice()


def _of_torch(name: str) -> Callable[..., Any] | None:
    import torch

    found: Callable[..., Any] | None = getattr(torch, name, None) or getattr(torch.special, name, None)
    return found


def _ilogb(x: Any) -> Any:
    import torch

    return torch.frexp(x).exponent - 1


_SPECIAL: dict[str, Callable[..., Any]] = {
    "ilogb": _ilogb,
    "fma": lambda a, b, c: (a.double() * b.double() + c.double()).to(a.dtype),
    "rcp_rn": lambda x: x.reciprocal(),
    "relu_difference": lambda a, b: (a - b).clamp(min=0),
    "gamma": lambda x: x.double().lgamma().exp().to(x.dtype),
}


def _applied(function: Callable[..., Any], args: tuple[Any, ...], integers: bool, long: bool) -> Any:
    import numpy
    import torch
    import triton.language as tl
    from triton.runtime.interpreter import TensorHandle

    typed = next(arg for arg in args if isinstance(arg, tl.tensor))
    arrays = [arg.handle.data if isinstance(arg, tl.tensor) else getattr(arg, "value", arg) for arg in args]
    kind = typed.handle.data.dtype
    shape = numpy.broadcast_shapes(*(numpy.shape(array) for array in arrays))
    tensors = [
        torch.from_numpy(numpy.array(numpy.broadcast_to(array, shape), getattr(array, "dtype", kind)))
        for array in arrays
    ]
    result = function(*tensors).numpy()
    scalar = typed.dtype.scalar
    if integers:
        scalar, kind = (tl.int64, numpy.int64) if long else (tl.int32, numpy.int32)
    made = result.astype(kind)
    return tl.tensor(TensorHandle(made, scalar), tl.block_type(scalar, list(shape)) if shape else scalar)
