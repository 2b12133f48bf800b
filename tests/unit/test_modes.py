"""Code that is no module: what ``eval`` runs, what is typed at a prompt, and ``await`` outside of a function."""

import ast

import pytest

from depyf import decompile
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.files.unmarshal import loads
from depyf.decompiler.driver.pipeline import TOP_LEVEL_AWAIT, decompile_unit
from depyf.decompiler.verify.recompiling.worker import worker_for
from depyf.decompiler.verify.verdict import Status
from depyf.decompiler.verify.whole import verify
from needs import need

VERSIONS = [(3, minor) for minor in range(8, 16)]
EXPRESSIONS = [
    "a + b",
    "lambda x, y=1: x + y",
    "[x for x in y if x]",
    "(z := 3)",
    "a if b else c and not d",
    "a < b < c or d",
    '"doc"',
    "(1, 2)",
    "f(*a, b=c, **d)",
]
PROMPT = [
    "a + b\n",
    "x = 1\n",
    '"doc"\n',
    "a, b\n",
    '__doc__ = "d"\na\n',
    "for i in x:\n    i\n",
    'if a:\n    b\nelse:\n    "c"\n',
    "def f():\n    a\n    return 1\n",
    "a\nb\nc = 3\n",
    "try:\n    a\nexcept E:\n    (b)\nfinally:\n    c\n",
    "with a as b:\n    b\n",
]
AWAITING = ["await x\n", "async with y as z:\n    await z\n", "async for x in y:\n    pass\n"]


def compiled(version, text, mode, flags=0):
    need(version)
    return loads(worker_for(version).compile(text, flags, 0, mode), version)


def assert_identical(unit, text):
    result = decompile_unit(unit)
    assert ast.dump(ast.parse(result.source)) == ast.dump(ast.parse(text))
    assert {verdict.status for verdict in result.verdicts} == {Status.IDENTICAL}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("text", EXPRESSIONS)
def test_eval(version, text):
    assert_identical(compiled(version, text, "eval"), text)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("text", PROMPT)
def test_prompt(version, text):
    assert_identical(compiled(version, text, "single"), text)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("text", AWAITING)
@pytest.mark.parametrize("mode", ["exec", "single"])
def test_await_outside_of_a_function(version, text, mode):
    assert_identical(compiled(version, text, mode, TOP_LEVEL_AWAIT), text)


@pytest.mark.parametrize("mode", ["eval", "single", "exec"])
def test_live(mode):
    flag, rest = "", decompile(compile("a + b\n", "prompt", mode))
    if mode != "exec":  # the first line says for which mode the text is
        flag, rest = rest.split("\n", 1)
    assert rest == "a + b\n"
    assert (f'"{mode}"' in flag) == (mode != "exec")


def test_what_is_shown_is_not_what_is_not():
    shown, silent = (CodeUnit.from_code(compile("a\n", "prompt", mode)) for mode in ("single", "exec"))
    assert not verify(shown, silent)[0].proven
    assert not verify(silent, shown)[0].proven
