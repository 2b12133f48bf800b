"""The names of the checks stand in ``run/``, which knows no torch; the checks themselves in ``sources/live/``."""

import types

import pytest

import depyf.run.plain_guard_checks as plain_guard_checks
from depyf.run.guard_vocabulary import ASKING, CHECKS
from depyf.run.guards.known_kinds import FUNCTIONS


def test_the_names_are_those_of_the_functions() -> None:
    pytest.importorskip("torch")
    from depyf.sources.live.guards import check_functions as guard_checks

    homes = (guard_checks.__name__, plain_guard_checks.__name__)
    functions = {
        name: value
        for name, value in vars(guard_checks).items()
        if isinstance(value, types.FunctionType) and (value.__module__ in homes or value in FUNCTIONS)
    }
    own = {name for name in functions if name[0] != "_"}
    assert own == CHECKS | {"marks_on", "tensor_differences"}
    assert ASKING < CHECKS
