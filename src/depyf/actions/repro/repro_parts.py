"""The functions that a script of ``depyf repro`` carries with it: running, and telling what differs.

Never imported by depyf: ``repro_script.py`` copies them.
"""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import torch

TOLERANCE = 1e-4


def set_as_recorded(settings: dict[str, Any]) -> None:
    """The settings of torch that were not the defaults."""
    for path, value in settings.items():
        start, _, name = path.partition(".config.")
        config = importlib.import_module(f"{start}.config")
        if hasattr(config, name):
            setattr(config, name, value)
        else:
            print(f"this torch has no {path}")


def run(graph: Callable[..., Any], values: dict[str, Any], computed: tuple[str, ...] = ()) -> dict[str, Any]:
    """What the graph returns, the gradients of its inputs, and the inputs afterwards; ``computed``: inputs that are no
    leaves."""
    arguments = [value.clone() if name in computed else value for name, value in values.items()]
    outputs = list(flat(graph(*arguments)))
    results = {f"output {number}": value for number, value in enumerate(outputs)}
    leaves = {name: v for name, v in values.items() if isinstance(v, torch.Tensor) and v.requires_grad}
    wanted = [value for value in outputs if isinstance(value, torch.Tensor) and value.grad_fn is not None]
    if wanted and leaves:
        given = [(torch.arange(v.numel(), device=v.device) % 7 + 1).to(v.dtype).reshape(v.shape) for v in wanted]
        gradients = torch.autograd.grad(wanted, list(leaves.values()), given, allow_unused=True)
        results |= {f"gradient of {name}": value for name, value in zip(leaves, gradients)}
    return results | {f"{name} afterwards": value for name, value in zip(values, arguments)}


def flat(value: Any) -> Iterator[Any]:
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from flat(item)
    else:
        yield value


def attempt(title: str, call: Callable[[], dict[str, Any]]) -> dict[str, Any] | None:
    """What the call returns; None where it raises, and the traceback is printed."""
    print(f"\n{title}")
    try:
        results = call()
    except Exception:
        traceback.print_exc(file=sys.stdout)
        return None
    print("  no exception")
    return results


def judge(expected: dict[str, Any] | None, actual: dict[str, Any] | None) -> int:
    """Print what differs; the exit status."""
    print("\nExpected against actual")
    if expected is None or actual is None:
        if expected is None:
            print("  eager mode raises" + (", compiled code does, too" if actual is None else ""))
            return 2
        print("  only compiled code raises")
        return 1
    most = max([largest(value) for value in expected.values()], default=0.0)
    differ = sum(not agree(name, one, actual[name], most) for name, one in expected.items())
    print(f"{differ} of {len(expected)} results differ" if differ else "all results agree")
    return int(differ > 0)


def largest(value: Any) -> float:
    """The largest absolute value among finite real or complex numbers; 0 where there is none."""
    if not isinstance(value, torch.Tensor) or not (value.is_floating_point() or value.is_complex()):
        return 0.0
    sizes = value.detach().abs().double()
    return float(sizes[sizes.isfinite()].max()) if bool(sizes.isfinite().any()) else 0.0


def agree(name: str, one: Any, other: Any, most: float) -> bool:
    """``most``: the largest value of all results, whose rounding errors may be all that a small one consists of."""
    if not isinstance(one, torch.Tensor) or not isinstance(other, torch.Tensor):
        if not (same := bool(one is other or one == other)):
            print(f"  DIFFERS  {name}: {one} expected, {other} found")
        return same
    noise = 100 * torch.finfo(one.dtype).eps * most if largest(one) else 0.0
    try:
        torch.testing.assert_close(other, one, rtol=0, atol=max(TOLERANCE * largest(one), noise), equal_nan=True)
    except AssertionError as error:
        print(f"  DIFFERS  {name}", *str(error).splitlines(), sep="\n           ")
        return False
    if not name.endswith(" afterwards"):
        print(f"  ok       {name}")
    return True
