"""Callers are folded to the functions that Dynamo saw, in one pass."""

from __future__ import annotations

import cProfile
import pstats

from depyf.run.records import CallerRecord
from depyf.sources.reports.callers import RunningFrame, folded


def frames(names: str) -> list[RunningFrame]:
    return [RunningFrame(name, name, "p.py", ord(name), 100 + ord(name)) for name in names]


def compiled(frame: RunningFrame) -> tuple[int, str] | None:
    return None if frame.name == "m" else (0, str(frame.first))


def shown(path: tuple[CallerRecord, ...]) -> str:
    return "".join(caller.place.function for caller in path)


def test_a_function_that_calls_itself_stands_once() -> None:
    for names, wanted in (
        ("abc", "abc"),
        ("aba", "a"),
        ("abcbc", "abc"),
        ("abcbca", "a"),
        ("mamb", "mamb"),
        ("ambma", "a"),
        ("abcbd", "abd"),
    ):
        assert shown(folded(frames(names), compiled, lambda file, line: "")) in (wanted, wanted.removeprefix("m")), (
            names
        )


def calls(depth: int) -> int:
    stack = [RunningFrame("f", "f", "p.py", number, number) for number in range(1, depth + 1)]
    profile = cProfile.Profile()
    profile.enable()
    folded(stack, compiled, lambda file, line: "")
    profile.disable()
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


def test_the_work_grows_with_the_depth_of_the_stack() -> None:
    assert calls(2000) < 2.1 * calls(1000)
