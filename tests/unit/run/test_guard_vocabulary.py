"""The names of the checks stand in ``dump/``, which knows no torch; the checks themselves in ``dynamo/``."""

import types

import pytest

from depyf.run.guard_vocabulary import ASKING, CHECKS


def test_the_names_are_those_of_the_functions() -> None:
    pytest.importorskip("torch")
    from depyf.sources.live.guards import check_functions as guard_checks

    functions = {name for name, value in vars(guard_checks).items() if isinstance(value, types.FunctionType)}
    own = {name for name in functions if name[0] != "_"}
    assert own == CHECKS
    assert ASKING < CHECKS
