"""Sequences that share storage stay what they were."""

import pytest

from depyf.decompiler.ir.grown import Grown, grown


def test_like_a_tuple():
    made, plain = (), ()
    kept = []
    for i in range(300):
        made, plain = grown(made, (i,)), (*plain, i)
        kept.append((made, plain))
    assert isinstance(made, Grown)
    for one, other in kept:
        assert tuple(one) == other and len(one) == len(other)
        assert one[0] == other[0] and one[-1] == other[-1] and one[:-1] == other[:-1] and one[1:3] == other[1:3]
        assert list(reversed(one)) == list(reversed(other)) and one[::-2] == other[::-2]
    with pytest.raises(IndexError):
        made[300]
    with pytest.raises(IndexError):
        made[-301]


def test_two_of_one():
    base = grown(tuple(range(100)), (100,))
    left, right = grown(base, "l"), grown(base, "r")
    assert (left[-1], right[-1], base[-1]) == ("l", "r", 100)
    assert tuple(grown(left, "x"))[-2:] == ("l", "x") and len(left) == 102 and len(base) == 101
