"""Compares results with those that were expected: the one rule by which scripts and packages say that two are the same."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch

from depyf.actions.scripts.carried.making import Make
from depyf.actions.scripts.carried.modes import Double
from depyf.actions.scripts.carried.running import NoDerivative


def agreement(expected: Any, actual: Any, tolerance: float, most: float) -> tuple[bool, str, float]:
    """Whether two results agree, what to say of them, and the part of the expected that they differ by (inf: in more
    than values).

    ``tolerance``: of the largest value of a tensor.  ``most``: the largest value of all results, whose rounding errors
    may be all that a small one consists of.
    """
    sparse = [isinstance(t, torch.Tensor) and t.layout != torch.strided for t in (expected, actual)]
    expected, actual = (t.to_dense() if s else t for t, s in zip((expected, actual), sparse))
    if not isinstance(expected, torch.Tensor) or not isinstance(actual, torch.Tensor):
        nan = isinstance(expected, float) and isinstance(actual, float) and expected != expected and actual != actual
        same = type(expected) is type(actual) and (nan or bool(expected == actual))
        return same, f"{expected!r}" if same else f"{expected!r} expected, {actual!r} found", math.inf
    kinds = [(tuple(t.shape), t.dtype, t.device) for t in (expected, actual)]
    if kinds[0] != kinds[1]:
        return False, f"{kinds[1]} instead of {kinds[0]}", math.inf
    one, two = (t.detach().to(torch.complex128 if t.is_complex() else torch.float64).cpu() for t in (expected, actual))
    finite = one.isfinite()
    largest = magnitude([one])
    noise = 100 * torch.finfo(expected.dtype).eps if expected.is_floating_point() or expected.is_complex() else 0.0
    limit = max(tolerance * largest, min(tolerance, noise) * most) if noise else 0.0
    apart = (one - two).abs().where(finite, torch.zeros((), dtype=torch.float64)).nan_to_num(math.inf, math.inf)
    difference = float(apart.max()) if apart.numel() else 0.0
    odd = bool(one[~finite].nan_to_num().equal(two[~finite].nan_to_num()))
    said = f"{str(actual.dtype).removeprefix('torch.')}{list(actual.shape)}  max difference {difference:.2g}, largest value {largest:.3g}"
    strange, wrong = int((~finite).sum()), int((apart > limit).sum())
    said += f", {strange} of {finite.numel()} not finite{' in both' if odd else ''}" if strange else ""
    if wrong:
        place = torch.nonzero(apart == apart.max())[0].tolist()
        said += f", {wrong} of {apart.numel()} differ, most at {place}" if place else ""
    return odd and not wrong, said, difference / max(1.0, largest) if odd else math.inf


def magnitude(results: Iterable[Any]) -> float:
    """The largest absolute value among finite real or complex numbers."""
    found = [0.0]
    for value in results:
        if isinstance(value, torch.Tensor) and value.layout == torch.strided and value.numel():
            wide = torch.complex128 if value.is_complex() else torch.float64
            found.append(float(value.detach().to(wide).abs().nan_to_num(0.0, 0.0).max()))
    return max(found)


def changed(before: list[Any], *afterwards: list[Any]) -> list[list[Any]]:
    """For each of ``afterwards`` the values of what is not in all of them as it was; None for the others."""
    kept = [
        all(not isinstance(one, torch.Tensor) or (one.shape == was.shape and one.equal(was)) for one in after)
        for was, after in zip(before, zip(*afterwards))
    ]
    return [[None if same else one for same, one in zip(kept, after)] for after in afterwards]


class Comparison:
    """Compares results with those expected, prints one line for each, remembers failures."""

    def __init__(self, tolerance: float) -> None:
        self.tolerance = tolerance
        self.most = 0.0
        self.failed = 0
        self.checked = 0

    def title(self, text: str) -> None:
        print(f"\n{text}")

    def expect(self, results: dict[str, Any]) -> None:
        """What comes is compared with ``results``, or with what is computed from these."""
        self.most = magnitude(results["outputs"] + results["gradients"])

    def same(self, names: list[str], expected: dict[str, Any], actual: dict[str, Any]) -> None:
        """Outputs, gradients, inputs and constants that the graph writes to."""
        self.expect(expected)
        numbers = [str(number) for number in range(len(expected["outputs"]))]
        self.all("output", numbers, expected["outputs"], actual["outputs"])
        self.all("gradient of", names, expected["gradients"], actual["gradients"])
        written = (expected["inputs afterwards"], actual["inputs afterwards"])
        self.all("input", names, *changed(expected["inputs before"], *written))
        was = expected["constants before"]
        held = (list(results["constants afterwards"].values()) for results in (expected, actual))
        self.all("constant", list(was), *changed(list(was.values()), *held))

    def all(self, kind: str, names: list[str], expected: list[Any], actual: list[Any]) -> None:
        if len(expected) != len(actual):
            self.line(False, kind, f"{len(actual)} instead of {len(expected)}")
            return
        for name, one, two in zip(names, expected, actual):
            if one is not None or two is not None:
                self.check(f"{kind} {name}".strip(), one, two)

    def check(self, name: str, expected: Any, actual: Any) -> None:
        if isinstance(expected, torch.Tensor) and actual is None:  # a gradient nobody computes is zero
            actual = torch.zeros_like(expected)
        elif isinstance(actual, torch.Tensor) and expected is None:
            expected = torch.zeros_like(actual)
        same, text, part = agreement(expected, actual, self.tolerance, self.most)
        if not same and self.forgiven(part):
            same, text = True, text + self.why()
        self.line(same, name, text)

    def forgiven(self, part: float) -> bool:
        """Whether results that differ by ``part`` are the same all the same."""
        return False

    def why(self) -> str:
        """What to say of those."""
        return ""

    def line(self, same: bool, name: str, text: str) -> None:
        self.failed += not same
        self.checked += 1
        print(f"  {'ok      ' if same else 'MISMATCH'}  {name:<32}  {text}")

    def conclusion(self) -> int:
        """The exit status."""
        if self.failed:
            print(f"\n{self.failed} of {self.checked} results differ")
        else:
            print(f"\nall {self.checked} results agree" if self.checked else "\nit runs; nothing to compare with")
        return 1 if self.failed else 0


def shaken(values: list[Any]) -> list[Any]:
    """In place: each floating-point number larger or smaller by one rounding error."""
    for value in values:
        if isinstance(value, torch.Tensor) and value.layout == torch.strided:
            if not (value.dtype.is_floating_point or value.dtype.is_complex):
                continue
            wide = torch.complex128 if value.dtype.is_complex else torch.float64
            whole = torch.empty(0, dtype=value.dtype, device=value.device).set_(value.untyped_storage())
            signs = torch.randint(0, 2, whole.shape, generator=torch.Generator().manual_seed(0)) * 2 - 1
            whole.copy_(whole.to(wide) * (1 + torch.finfo(value.dtype).eps * signs.to(whole.device)))
    return values


def sensitivity(computed: Callable[[bool], dict[str, Any]]) -> float:
    """By how much of its largest value a result changes that is computed from shaken inputs: at most 0.025.

    Two ways of computing the same round differently at each step, which changes the results about as much."""
    plain, other = computed(False), computed(True)
    pairs = zip(plain["outputs"] + plain["gradients"], other["outputs"] + other["gradients"])
    floating = [
        (one, two)
        for one, two in pairs
        if isinstance(one, torch.Tensor) and (one.is_floating_point() or one.is_complex())
    ]
    found = [agreement(one, two, 0.0, 0.0)[2] for one, two in floating]
    return min(0.025, max([0.0, *(part for part in found if part < math.inf)]))


class Report(Comparison):
    """For made-up inputs: what rounding errors alone may do is measured, and what the inputs cannot show is left out."""

    def __init__(self, tolerance: float, computed: Callable[[bool], dict[str, Any]]) -> None:
        super().__init__(tolerance)
        self.computed = computed
        self.sensitive: float | None = None
        self.rounding = 0
        self.forward_only = False

    def first(self, compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """What the eager graph computes; from here on without gradients, if one of its operators has none.

        Each integer input is in its range, but together they may be out of another one (positions that are summed up):
        then the smallest of each range is tried, and the largest."""
        try:
            results = compute()
        except NoDerivative as error:
            print(f"            {error}: the forward only")
            self.forward_only = True
            return self.first(compute)
        except (IndexError, RuntimeError) as error:
            if Make.ends is None or Make.ends == "largest":
                raise
            Make.ends = "largest" if Make.ends else "smallest"
            print(f"            {str(error).partition(chr(10))[0]}: now the {Make.ends} integers")
            return self.first(compute)
        self.expect(results)
        return results

    def given(self, values: list[Any]) -> list[Any]:
        """Inputs of which no gradients are asked, where there are none."""
        return [v.detach() if self.forward_only and isinstance(v, torch.Tensor) else v for v in values]

    def describe(self, outputs: list[Any]) -> None:
        for number, value in enumerate(outputs):
            shown = f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}" if isinstance(value, torch.Tensor) else repr(value)  # fmt: skip
            print(f"            output {number:<25}  {shown}")

    def same(self, names: list[str], expected: dict[str, Any], actual: dict[str, Any]) -> None:
        super().same(names, expected, actual)
        self.rounding = 0  # compiled code has no double precision to be judged by

    def forgiven(self, part: float) -> bool:
        if part == math.inf:
            return False
        if self.sensitive is None:
            self.sensitive = sensitivity(self.computed)
        forgiven = part <= 4 * self.sensitive
        self.rounding += not forgiven and self.sensitive >= 0.025
        return forgiven

    def why(self) -> str:
        return f", a rounding error in the inputs makes {self.sensitive:.2g} of it"


def judged(compare: Callable[[Any, float], Report], options: Any, tolerance: float) -> int:
    """The exit status.  Where rounding errors alone decide the results, those in double precision are compared."""
    report = compare(options, tolerance)
    if report.failed and report.failed == report.rounding:
        print("\nRounding errors decide the results that differ.  Once more, in double precision:")
        options.backend = "none"
        try:
            with Double():
                report = compare(options, 1e-6)
        except Exception as error:
            print(f"that does not work: {type(error).__name__}: {error}")
    return report.conclusion()
