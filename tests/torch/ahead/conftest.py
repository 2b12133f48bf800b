"""Shared by the tests of what is compiled ahead of time."""

from __future__ import annotations

import gc

import pytest


@pytest.fixture(autouse=True)
def nothing_of_the_test_before():
    """What the test before compiled ahead of time is in no dump of the next."""
    gc.collect()
