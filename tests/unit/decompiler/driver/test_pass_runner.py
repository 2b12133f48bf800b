"""The runner of lists of passes: what runs, in which order, and what is seen in between."""

from __future__ import annotations

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit, units
from depyf.decompiler.driver.invariants import InvariantError
from depyf.decompiler.driver.one_pass import Pass
from depyf.decompiler.driver.pass_runner import run_all, run_passes
from depyf.decompiler.driver.state import State
from depyf.decompiler.ir.stmt import Break


def states() -> list[State]:
    module = CodeUnit.from_code(compile("def f(): pass\ndef g(): pass\n", "<module>", "exec", dont_inherit=True))
    return [State(unit, lambda *_: ()) for unit in list(units(module))[1:]]


def named(seen: list[tuple[str, str]]):
    def perform(step: Pass, state: State) -> str:
        seen.append((step.name, state.unit.name))
        return step.name

    return perform


def nothing(state: State) -> None:
    return


def test_each_pass_runs_over_all_before_the_next() -> None:
    seen: list[tuple[str, str]] = []
    run_all((Pass("a", nothing, "", ""), Pass("b", nothing, "", "")), states(), named(seen))
    assert seen == [("a", "f"), ("a", "g"), ("b", "f"), ("b", "g")]


def test_what_failed_is_left_alone() -> None:
    first, second = both = states()
    first.failed = True
    seen: list[tuple[str, str]] = []
    run_all((Pass("a", nothing, "", ""),), both, named(seen))
    assert seen == [("a", second.unit.name)]


def test_only_code_with_the_operation_is_passed_over() -> None:
    both = states()
    second = both[1]
    second.operations = frozenset({"BRANCH"})
    seen: list[tuple[str, str]] = []
    run_all((Pass("a", nothing, "", "", needs=frozenset({"BRANCH"})),), both, named(seen))
    assert seen == [("a", second.unit.name)]


def test_the_next_pass_runs_when_it_is_asked_for() -> None:
    seen: list[tuple[str, str]] = []
    running = run_passes((Pass("a", nothing, "", ""), Pass("b", nothing, "", "")), states()[:1], named(seen))
    assert next(running) == "a"
    assert seen == [("a", "f")]


@pytest.mark.parametrize("check", [True, False])
def test_a_pass_is_checked(check: bool) -> None:
    def run(state: State) -> None:
        state.body = (Break(),)

    step = Pass("a", run, "body", "")
    if check:
        with pytest.raises(InvariantError, match="outside of a loop"):
            step.perform(states()[0], check=True)
    else:
        assert step.perform(states()[0], check=False)
    assert not Pass("b", run, "body", "", when=lambda state: False).perform(states()[0], check=check)
