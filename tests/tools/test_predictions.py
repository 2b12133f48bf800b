"""``tools/fuzz/predictions.py``: a few of its programs, those that found something wrong among them."""

from __future__ import annotations

import pytest

from depyf.run.causes.prediction import Prediction
from depyf.run.causes.ways_out import WayOut
from tools.fuzz.predictions import Outcome, outcomes

pytest.importorskip("torch")


@pytest.mark.parametrize("seed", [18, 52, 107, 169, 230])
def test_predictions_hold(seed, tmp_path):
    found = outcomes(seed, tmp_path)
    assert found and all(one.holds for one in found), found


def test_what_does_not_hold_is_told():
    assert not Outcome(WayOut((), Prediction(3, 1)), 2).holds
    assert not Outcome(WayOut((), Prediction(3, 1)), None).holds
    assert Outcome(WayOut((), Prediction(3, 1)), 1).holds
