"""The one rule by which results agree: in scripts of the gallery, in bug reports, in packages."""

from __future__ import annotations

import math

import pytest
import torch

from depyf.actions.scripts.carried.comparing import agreement, magnitude

pytestmark = pytest.mark.torch
LARGE = torch.tensor([1000.0, 1.0])


@pytest.mark.parametrize(
    ("expected", "actual", "tolerance", "most", "same"),
    [
        (LARGE, LARGE + 0.05, 1e-4, 0.0, True),  # of the largest value, not of each
        (LARGE, LARGE + 0.5, 1e-4, 0.0, False),
        (LARGE * 1e-9, LARGE * 2e-9, 1e-4, 1e-6, False),  # all results are small
        (LARGE * 1e-9, LARGE * 2e-9, 1e-4, 1.0, True),  # a rounding error of a large one
        (torch.zeros(2), torch.full((2,), 1e-6), 1e-4, 1.0, True),
        (torch.ones(2).bfloat16(), torch.full((2,), 1.5).bfloat16(), 5e-2, 1.0, False),  # 100 rounding errors are 0.78
        (torch.tensor([100_000]), torch.tensor([100_001]), 1e-4, 1e5, False),  # integers are equal or not
        (torch.tensor([math.nan, 1.0]), torch.tensor([math.nan, 1.0]), 1e-4, 1.0, True),
        (torch.tensor([math.nan, 1.0]), torch.tensor([1.0, 1.0]), 1e-4, 1.0, False),
        (torch.tensor([1.0]), torch.tensor([math.inf]), 1e-4, 1.0, False),
        (torch.ones(2), torch.ones(2).double(), 1e-4, 1.0, False),
        (torch.ones(2), torch.ones(1, 2), 1e-4, 1.0, False),
        (torch.empty(0), torch.empty(0), 1e-4, 0.0, True),
        (torch.ones(2) * 1j, torch.ones(2) * -1j, 1e-4, 1.0, False),
        (torch.eye(2).to_sparse(), torch.eye(2).to_sparse(), 1e-4, 1.0, True),
        (True, 1, 1e-4, 1.0, False),
        (math.nan, math.nan, 1e-4, 1.0, True),
        (None, torch.zeros(2), 1e-4, 1.0, False),
    ],
)
def test_agreement(expected, actual, tolerance, most, same):
    assert agreement(expected, actual, tolerance, most)[0] == same


def test_what_differs_is_counted_and_found():
    said = agreement(torch.zeros(2, 3), torch.eye(2, 3) * 2, 1e-4, 0.0)[1]
    assert said == "float32[2, 3]  max difference 2, largest value 0, 2 of 6 differ, most at [0, 0]"


def test_magnitude():
    assert magnitude([torch.tensor([1, -7]), torch.tensor([math.inf, 3.0]), None, 9, torch.empty(0)]) == 7.0
