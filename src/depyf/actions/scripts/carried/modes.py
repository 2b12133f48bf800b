"""The states in which a gallery script runs its graphs: random numbers from a pattern, double precision, assertions
told.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any

import torch


class Mode(torch.utils._python_dispatch.TorchDispatchMode):  # type: ignore[misc]
    """One that higher-order operators go through, too; on torch 2.6 each of them asks for a rule."""

    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()
        known = hasattr(torch.utils._python_dispatch.TorchDispatchMode, "supports_higher_order_operators")
        for func in [] if known else list(getattr(torch._ops, "_higher_order_ops", {}).values()):
            if type(self) not in func.python_key_table:
                func.py_impl(type(self))(
                    lambda mode, *args, func=func, **kwargs: mode.__torch_dispatch__(func, (), args, kwargs)
                )


class Double(Mode):
    """Computes in double precision, whatever the graph says."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        args, kwargs = torch.utils._pytree.tree_map(self.wide, (args, kwargs or {}))
        return func(*args, **kwargs)

    def wide(self, value: Any) -> Any:
        kinds = dict.fromkeys((torch.float16, torch.bfloat16, torch.float32), torch.float64)
        kinds[torch.complex64] = torch.complex128
        if isinstance(value, torch.Tensor):
            return value.to(kinds[value.dtype]) if value.dtype in kinds else value
        return kinds.get(value, value) if isinstance(value, torch.dtype) else value


class Assertions(Mode):
    """What the program asserts of values is told, not raised, where made-up values do not hold it."""

    def __init__(self) -> None:
        super().__init__()
        self.broken: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = "" if isinstance(func, torch._ops.HigherOrderOperator) else func.overloadpacket.__name__
        if name.removeprefix("_functional") in ("_assert_async", "_assert_scalar") and not bool(args[0]):
            self.broken.append(str(args[1]) if len(args) > 1 else "an assertion")
            args = (torch.ones_like(args[0]) if isinstance(args[0], torch.Tensor) else True, *args[1:])
        return func(*args, **(kwargs or {}))

    def tell(self) -> bool:
        for message in dict.fromkeys(self.broken):
            print(f"            the inputs are made up and do not hold what the program asserts: {message}")
        return bool(self.broken)


class FixedRandomness(Mode):
    """Replaces random numbers by a fixed pattern, so that two ways of computing one thing draw the same.

    Each distribution is computed from the pattern as Inductor computes it from uniform numbers."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if isinstance(func, torch._ops.HigherOrderOperator):
            return self.higher(func, args, kwargs)
        name = func.overloadpacket.__name__
        if name == "native_dropout" and args[2] is not False:
            x, p = args[:2]
            mask = self.pattern(x).to(x.dtype) > p
            return x * mask * (1 / (1 - p) if p < 1 else 1.0), mask
        if name in ("bernoulli", "bernoulli_"):
            p = args[1] if len(args) > 1 else kwargs.get("p", args[0] if name == "bernoulli" else 0.5)
            drawn = self.trials(args[0], p, p is args[0]).to(args[0].dtype)
            return args[0].copy_(drawn) if name == "bernoulli_" else drawn
        if name == "multinomial":
            return self.chosen(*args)
        if name.startswith("rrelu_with_noise") and "backward" not in name and args[4:5] == (True,):
            return self.leaky(name, *args[:4])
        made = func(*args, **kwargs)
        values = self.drawn(name, args, kwargs, made)
        return made if values is None else made.copy_(values)

    def higher(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Those that run a random operator again, as it ran before, draw from the pattern, too."""
        if func.name() == "run_and_save_rng_state":
            with self:
                return torch.get_rng_state(), args[0](*args[1:], **kwargs)
        if func.name() == "run_with_rng_state":
            with self:
                return args[1](*args[2:], **kwargs)
        return func(*args, **kwargs)

    def drawn(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], made: Any) -> torch.Tensor | None:
        """What an operator that made ``made`` would have drawn; None where it draws nothing."""
        base = name.removesuffix("_").removesuffix("_functional").removesuffix("_like").removeprefix("inductor_")
        if base == "random" and name.startswith("inductor"):
            base = args[2]  # rand or randn
        if base == "normal" and name == "normal":  # of tensors
            mean, std = (kwargs["mean"], kwargs["std"]) if "mean" in kwargs else (*args[:2], 1.0)[:2]
            return self.normal(made) * std + mean
        numbers = [arg for arg in args if isinstance(arg, (int, float))]
        if base in ("randint", "random"):
            low, high = [*([0] if len(numbers) < 2 else []), *(numbers or [1 << 16])][:2]
            return (self.pattern(made) * (high - low) + low).floor()
        if base == "randperm":
            return self.pattern(made).argsort()
        if base == "poisson":
            return (args[0] + self.pattern(made)).floor()
        known: dict[str, tuple[tuple[float, ...], Callable[..., torch.Tensor]]] = {
            "rand": ((), lambda: self.pattern(made)),
            "randn": ((), lambda: self.normal(made)),
            "uniform": ((0.0, 1.0), lambda low, high: self.pattern(made) * (high - low) + low),
            "normal": ((0.0, 1.0), lambda mean, std: self.normal(made) * std + mean),
            "log_normal": ((1.0, 2.0), lambda mean, std: (self.normal(made) * std + mean).exp()),
            "exponential": ((1.0,), lambda rate: -torch.log(self.pattern(made)) / rate),
            "cauchy": ((0.0, 1.0), lambda at, width: torch.tan((self.pattern(made) - 0.5) * math.pi) * width + at),
            "geometric": ((0.5,), lambda p: (torch.log1p(-self.pattern(made)) / math.log1p(-p)).floor() + 1),
        }
        if base not in known:
            return None
        defaults, draw = known[base]
        return draw(*(*numbers, *defaults[len(numbers) :])[: len(defaults)])

    def leaky(self, name: str, x: torch.Tensor, noise: torch.Tensor, low: float, high: float) -> Any:
        """As ``rrelu_with_noise``, in place or functional."""
        slopes = torch.where(x <= 0, self.pattern(x).to(x.dtype) * (high - low) + low, 1)
        if name.endswith("_functional"):
            return x * slopes, slopes
        noise.copy_(slopes)
        return x.copy_(x * slopes) if name.endswith("_") else x * slopes

    def trials(self, like: torch.Tensor, p: Any, of_itself: bool) -> torch.Tensor:
        """True with probability ``p``.  On a CPU dropout draws what it keeps, where ``native_dropout`` draws what it
        drops."""
        drawn = self.pattern(like)
        if of_itself or like.device.type != "cpu":
            return drawn < p
        return (drawn.to(like.dtype) if like.is_floating_point() else drawn) > 1 - p

    def normal(self, like: torch.Tensor) -> torch.Tensor:
        return torch.erfinv(2 * self.pattern(like) - 1) * math.sqrt(2)

    def chosen(self, weights: torch.Tensor, count: int, again: bool = False) -> torch.Tensor:
        """As ``torch.multinomial``."""
        if not again:
            noise = -torch.log(-torch.log(self.pattern(weights)))
            return (weights.float().log() + noise).topk(count, -1).indices
        totals = weights.float().cumsum(-1)
        at = self.pattern(weights.new_empty(*weights.shape[:-1], count, dtype=torch.float32)) * totals[..., -1:]
        return torch.searchsorted(totals, at, right=True).clamp(max=weights.shape[-1] - 1)

    def pattern(self, like: torch.Tensor) -> torch.Tensor:
        """Evenly spread over (0, 1): the fractions of multiples of the golden ratio."""
        values = (torch.arange(1, like.numel() + 1, dtype=torch.float64) * 0.6180339887498949).frac()
        return values.clamp(1e-6, 1 - 1e-6).to(torch.float32).reshape(like.shape).to(like.device)


@contextlib.contextmanager
def drawing(fixed: bool, seed: int = 0) -> Iterator[None]:
    """Random numbers from a fixed pattern, or from a fixed seed."""
    torch.manual_seed(seed)
    with FixedRandomness() if fixed else contextlib.nullcontext():
        yield


@contextlib.contextmanager
def inlined() -> Iterator[None]:
    """``invoke_subgraph`` calls its body: outside of torch.compile it has no backward."""
    operators = torch.ops.higher_order
    before = operators.invoke_subgraph
    operators.invoke_subgraph = lambda body, name, *arguments: body(*arguments)
    try:
        yield
    finally:
        operators.invoke_subgraph = before
