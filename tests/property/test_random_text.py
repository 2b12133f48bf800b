"""Random docstrings and f-strings (``tools/fuzz/randomtext.py``): all of them proven, on every interpreter found."""

from __future__ import annotations

import random

import pytest

from needs import need
from tools.env import interpreters
from tools.fuzz import randomtext

COUNT = 60


@pytest.mark.parametrize("kind", [randomtext.all_docstrings, randomtext.all_fstrings])
@pytest.mark.parametrize("version", interpreters.VERSIONS)
def test_proven(version: str, kind: type) -> None:
    need(version)
    major, minor = map(int, version.split("."))
    texts = randomtext.legal((major, minor), kind(random.Random(19)), COUNT)
    wrong = [(text, reason) for text in texts for reason in randomtext.unproven((major, minor), text)]
    assert wrong == []


def test_deterministic() -> None:
    first, second = (next(randomtext.all_fstrings(random.Random(3))) for _ in range(2))
    assert first == second
