"""The code of a comprehension or generator expression given alone (``driver/alone.py``), on every interpreter that runs depyf."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from depyf.decompiler.options import Options
from depyf.decompiling import as_written
from tools.env import interpreters

SRC = Path(__file__).resolve().parents[4] / "src"
HOSTS = ("3.10", "3.11", "3.12", "3.13", "3.14")
COMPREHENSIONS = (
    ("listcomp", "[x + 1 for x in {} if x]"),
    ("setcomp", "{{x for y in {} for x in y}}"),
    ("dictcomp", "{{x: x + 1 for x in {}}}"),
    ("genexpr", "(x + 1 for x in {} if x)"),
    ("genexpr", "((x for x in y) for y in {})"),
    ("genexpr", "(lambda: x for x in {})"),
    ("async genexpr", "(x async for x in {} if x)"),
    ("async genexpr", "(await x for x in {})"),
    ("async listcomp", "[x async for x in {}]"),
    ("async dictcomp", "{{await x: 1 for x in {}}}"),
)
PROGRAM = """
import json, sys, types, depyf
found = []
for source in json.loads(sys.argv[1]):
    names = {}
    exec(source, names)
    codes = [const for const in names["f"].__code__.co_consts if isinstance(const, types.CodeType)]
    found.append(depyf.decompile(codes[0]) if codes else None)
print(json.dumps(found))
"""


@pytest.mark.parametrize("version", HOSTS)
def test_shown_as_a_function(version: str) -> None:
    python = interpreters.find(version)
    if python is None:
        pytest.skip(f"no Python {version} on this machine")
    sources = [
        f"{'async ' * name.startswith('async')}def f(xs): return {text.format('xs')}" for name, text in COMPREHENSIONS
    ]
    ran = subprocess.run(
        [python, "-c", PROGRAM, json.dumps(sources)],
        env={**os.environ, "PYTHONPATH": str(SRC), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    for (name, text), shown in zip(COMPREHENSIONS, json.loads(ran.stdout), strict=True):
        word, _, plain = name.rpartition(" ")
        if shown is None:  # inlined into the function around it
            assert plain != "genexpr" and version not in ("3.10", "3.11")
            continue
        begin = f"{word} def" if word else "def"
        assert shown == f"{begin} {plain}(iterable):\n    return {text.format('iterable')}\n"


def test_free_variables_and_names() -> None:
    def outer(xs: list[int], y: int) -> object:
        return (x + y + iterable for x in xs)  # type: ignore[name-defined]  # noqa: F821

    found = as_written(outer([], 1).gi_code, Options(), None)  # type: ignore[attr-defined]
    assert "def genexpr(iterable_):\n        return (x + y + iterable for x in iterable_)\n" in found.source
    assert [verdict.proven for verdict in found.verdicts] == [True]


def test_objects() -> None:
    async def awaiting() -> None:
        await awaiting()

    coroutine = awaiting()
    coroutine.close()
    assert "await awaiting()" in as_written(coroutine.cr_code, Options(), None).source
