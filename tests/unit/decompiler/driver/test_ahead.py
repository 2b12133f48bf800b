"""Nested code is decompiled before the code around it, many code objects at a time, with the same outcome as one by one."""

from __future__ import annotations

import ast
import sysconfig
from dataclasses import replace
from pathlib import Path

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit, units
from depyf.decompiler.driver import ahead, decompilation
from depyf.decompiler.driver.ahead import decompile_ahead
from depyf.decompiler.driver.one_pass import Pass
from depyf.decompiler.driver.pipeline import decompile_unit
from depyf.decompiler.driver.rungs import LADDER, READABLE
from depyf.decompiler.driver.state import State
from depyf.decompiler.ir.stmt import Body
from depyf.errors import DecompilationError
from depyf.native import build
from depyf.safety.budget import Budget
from depyf.safety.depth import budget_of_work, limited, spend

SOURCE = """
def f(a):
    def g(b):
        return [c for c in b if c]
    class K:
        def m(self):
            return lambda: self
    return g(a), K
def h():
    return 1
"""
INNERMOST = {"f.<locals>.g.<locals>.<listcomp>", "f.<locals>.K.m.<locals>.<lambda>", "h"}


def unit_of(source: str) -> CodeUnit:
    return CodeUnit.from_code(compile(source, "<module>", "exec", dont_inherit=True))


def ran(passes: tuple[Pass, ...], unit: CodeUnit, size: int = 1000) -> tuple[dict[str, Body], Budget]:
    """What is ready, by qualified name, and the budget afterwards."""
    ready: dict[int, Body] = {}
    known = {id(inner): inner.qualname for inner in units(unit)}
    left: list[Budget] = []

    def nested(inner: CodeUnit, expression: bool) -> Body:
        return ready[id(inner)]

    def work() -> None:
        left.append(budget_of_work())
        decompile_ahead(unit, passes, lambda inner: State(inner, nested), ready)

    limited("all", size, work)
    return {known[number]: body for number, body in ready.items()}, left[0]


@pytest.mark.skipif(build() == "compiled", reason="compiled code calls what it imports directly")
@pytest.mark.parametrize("name", ["ast", "contextlib", "enum", "functools", "tarfile"])
def test_the_outcome_is_that_of_one_by_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    unit = unit_of(Path(sysconfig.get_path("stdlib"), f"{name}.py").read_text(encoding="utf-8"))
    together = decompile_unit(unit)
    monkeypatch.setattr(decompilation, "decompile_ahead", lambda *_, **__: None)
    alone = decompile_unit(unit)
    assert (together.source, together.verdicts, together.linemap) == (alone.source, alone.verdicts, alone.linemap)


def test_each_pass_runs_over_all_that_nests_as_deep_before_the_next() -> None:
    seen: list[tuple[str, str]] = []

    def watched(step: Pass) -> Pass:
        def run(state: State) -> None:
            seen.append((step.name, state.unit.qualname))
            step.run(state)

        return replace(step, run=run)

    found, _ = ran(tuple(map(watched, READABLE)), unit_of(SOURCE))
    assert set(found) == {inner.qualname for inner in units(unit_of(SOURCE))} - {"<module>"}
    innermost = len([name for _, name in seen if name in INNERMOST])
    assert {name for _, name in seen[:innermost]} == INNERMOST
    order = [name for name, _ in seen[:innermost]]
    assert order == sorted(order, key=[step.name for step in READABLE].index)
    assert order.count("lower") == len(INNERMOST)


def test_nothing_is_decompiled_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: dict[str, int] = {}
    first = READABLE[0]

    def run(state: State) -> None:
        counts[state.unit.qualname] = counts.get(state.unit.qualname, 0) + 1
        first.run(state)

    rung = LADDER[0].rung
    monkeypatch.setattr(type(rung), "passes", property(lambda rung: (replace(first, run=run), *rung.value[1:])))
    unit = unit_of(SOURCE)
    assert decompile_unit(unit).proven
    assert counts == dict.fromkeys((inner.qualname for inner in units(unit)), 1)


def test_what_fails_is_left_out_and_costs_nothing() -> None:
    def run(state: State) -> None:
        if state.unit.qualname == "h":
            spend(100_000)
            raise DecompilationError("planted", "h")

    whole, before = ran(READABLE, unit_of(SOURCE))
    found, after = ran((*READABLE[:3], Pass("planted", run, "", ""), *READABLE[3:]), unit_of(SOURCE))
    assert found.keys() == whole.keys() - {"h"}
    assert abs(before.left - after.left) < 1000


def test_too_much_work_in_one_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is found, and said, where that code is decompiled by itself, within a budget of its own."""

    def run(state: State) -> None:
        if state.unit.qualname == "h":
            for _ in range(100):
                spend(100_000)

    planted = Pass("planted", run, "", "")
    found, left = ran((*READABLE, planted), unit_of(SOURCE))
    assert set(found) == INNERMOST - {"h"}
    assert left.left > Budget("all", 1000).left - 10_000
    rung = LADDER[0].rung
    monkeypatch.setattr(type(rung), "passes", property(lambda rung: (*rung.value, planted)))
    verdicts = {verdict.qualname: verdict for verdict in decompile_unit(unit_of(SOURCE)).verdicts}
    assert "expand too far" in verdicts["h"].reason
    assert all(verdict.proven for name, verdict in verdicts.items() if name not in ("h", "<module>"))


def test_one_that_takes_more_than_its_part_is_left_out() -> None:
    """Though what many may take together would be enough for it."""

    def run(state: State) -> None:
        if state.unit.qualname == "h":
            spend(820_000)

    many = SOURCE + "".join(f"def other{number}():\n    return {number}\n" for number in range(30))
    found, _ = ran((*READABLE, Pass("planted", run, "", "")), unit_of(many))
    assert "h" not in found and "other3" in found


def test_an_internal_error_is_told() -> None:
    def run(state: State) -> None:
        raise KeyError(state.unit.qualname)

    told: list[str] = []
    unit = unit_of("def f(): pass\ndef g(): pass\n")
    passes = (Pass("planted", run, "", ""),)
    ready: dict[int, Body] = {}
    decompile_ahead(
        unit, passes, lambda inner: State(inner, lambda *_: ()), ready, on_bug=lambda at, bug: told.append(at.qualname)
    )
    assert (told, ready) == (["f", "g"], {})


def test_what_is_on_another_rung_is_left_alone() -> None:
    unit = unit_of(SOURCE)
    known = {inner.qualname: inner for inner in units(unit)}
    for qualname, left in (("h", {"f"}), ("f.<locals>.g", {"f", "h"})):
        work = decompilation.Decompilation({decompilation.key_of(known[qualname]): 3})
        work._decompile_ahead(unit)
        assert set(work.ready) == {id(known[name]) for name in left}


def test_code_that_nests_deeply_and_twice() -> None:
    inner = next(found for found in units(unit_of("def f(): pass")) if found.qualname == "f")
    unit = replace(inner, consts=(None, inner))
    for _ in range(2000):
        unit = replace(unit, consts=(None, unit))
    found = ahead._levels(replace(unit, consts=(inner, unit)))
    assert [len(level) for level in found] == [1] * 2002
    assert found[0] == [inner] and found[-1] == [unit]


def test_a_comprehension_is_still_an_expression() -> None:
    found = decompile_unit(unit_of("x = [a for a in b if (lambda: a)()]"))
    assert ast.dump(ast.parse(found.source)) == ast.dump(ast.parse("x = [a for a in b if (lambda: a)()]"))


def test_a_condition_that_fails_is_a_failure_of_that_code_alone() -> None:
    def when(state: State) -> bool:
        return {"f": True, "g": False}[state.unit.qualname]

    told: list[str] = []
    ready: dict[int, Body] = {}
    unit = unit_of("def f(): pass\ndef g(): pass\ndef h(): pass\n")
    passes = (Pass("planted", lambda state: None, "", "", when=when),)
    decompile_ahead(
        unit, passes, lambda inner: State(inner, lambda *_: ()), ready, on_bug=lambda at, bug: told.append(at.qualname)
    )
    assert (told, len(ready)) == (["h"], 2)
