"""A constant set of numbers iterates as it was filled where two of them share a place; the text fills it alike."""

from __future__ import annotations

import ast
import dataclasses
import random
import subprocess
import sys
import types
from pathlib import Path

import pytest

from depyf.decompiler import decompile
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.files.pyc import read_pyc
from depyf.decompiler.bytecode.tables.set_order import filling_order, is_ordered
from depyf.decompiler.driver.pipeline import decompile_code, decompile_unit
from depyf.decompiler.verify import Status, verify
from depyf.decompiler.verify.assumptions import SEED_NOTE, SET_NOTE
from depyf.decompiler.verify.recompiling.interpreters import find_interpreter
from depyf.decompiler.verify.recompiling.recompile import recompile
from needs import need

VERSIONS = [(3, minor) for minor in range(8, 16)]
SETS = [
    "{-1, -2, 6}",
    "{-2, -1, 6}",
    "{6, -2, -1}",
    "{8, 0, 16}",
    "{16, 8, 0}",
    "{0.5, 0.25, 0}",
    "{32, 64, 1, 128, 0, 5}",
]
MANY = [
    "{655358, 655359, 720894, 786430, 851966, 851967, 917502, 917503, 983038, 983039, 1048574, 1048575, 1114110, 1114111}",
    "{1114111, 1114110, 1048575, 1048574, 983039, 983038, 917503, 917502, 851967, 851966, 786430, 720894, 655359, 655358}",
]
"""More than are put in order by trying, in the order of most sources."""
LOOP = "def f():\n    return [x for x in SET]\n"
LATER = "def f():\n    s = SET\n    return list(s)\n"
SPREAD = "def f():\n    return [*SET]\n"
SHAPES = [LOOP, LATER, SPREAD]


def function(source: str) -> types.CodeType:
    return next(c for c in compile(source, "sets", "exec", 0, True).co_consts if isinstance(c, types.CodeType))


def run(source: str) -> object:
    space: dict[str, object] = {}
    exec(compile(source, "sets", "exec", 0, True), space)
    return repr(space["f"]())  # type: ignore[operator]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("display", SETS)
def test_the_text_iterates_alike(display: str, shape: str) -> None:
    source = shape.replace("SET", display)
    found = decompile_code(function(source))
    assert run(found.shown) == run(source)
    assert {v.status for v in found.verdicts} == {Status.IDENTICAL}


@pytest.mark.parametrize("shape", SHAPES)
def test_another_order_is_no_proof(shape: str) -> None:
    one, other = (CodeUnit.from_code(function(shape.replace("SET", display))) for display in SETS[:2])
    assert run(shape.replace("SET", SETS[0])) != run(shape.replace("SET", SETS[1]))
    assert not all(v.proven for v in verify(one, other))
    assert all(v.proven for v in verify(one, one))


def test_a_set_that_is_only_searched_is_met_in_its_order() -> None:
    one, other = (
        CodeUnit.from_code(function(f"def f(x):\n    return x in {display}, x not in {display}\n"))
        for display in SETS[:2]
    )
    assert verify(one, other)[0].status is Status.WRONG  # -1 and -2 hash alike: a search compares them in their order


@pytest.mark.parametrize("version", VERSIONS)
def test_on_every_version(version: tuple[int, int], tmp_path: Path) -> None:
    """Read from a file, whose order of writing is not that of the set."""
    need(version)
    python = find_interpreter(version)
    assert python is not None
    parts = [shape.replace("SET", display) + "print(f())\n" for shape in SHAPES for display in SETS]
    path, compiled = tmp_path / "m.py", str(tmp_path / "m.pyc")
    path.write_text("".join(parts))
    compiling = f"import py_compile; py_compile.compile({str(path)!r}, {compiled!r}, doraise=True)"
    subprocess.run([python, "-c", compiling], check=True)
    unit = read_pyc(compiled)
    found = decompile_unit(unit)
    assert {v.status for v in found.verdicts} == {Status.IDENTICAL}
    loading = f"import marshal; exec(marshal.loads(open({compiled!r}, 'rb').read()[16:]))"
    expected = subprocess.run([python, "-c", loading], check=True, capture_output=True, text=True).stdout
    given = subprocess.run([python, "-c", found.source], check=True, capture_output=True, text=True).stdout
    assert given == expected
    assert all(v.proven for v in verify(unit, recompile(found.source, version).unit))
    for line in sorted({line for line in found.source.splitlines() if "6" in line and "-1" in line}):
        shown = ast.unparse(next(node for node in ast.walk(ast.parse(line.strip())) if isinstance(node, ast.Set)))
        turned = "{" + ", ".join(reversed(shown[1:-1].split(", "))) + "}"
        assert not all(v.proven for v in verify(unit, recompile(found.source.replace(shown, turned), version).unit))


def test_orders_are_found() -> None:
    draw, missed = random.Random(5), 0
    for _ in range(400):
        kind = draw.randrange(4)
        items: list[object] = [
            (draw.randrange(-12, 12), draw.randrange(-4, 4) * 8, draw.randrange(-8, 20) / 4, (draw.randrange(3), -1))[
                kind
            ]
            for _ in range(draw.randrange(1, 24))
        ]
        wanted = list(frozenset(items))
        assert is_ordered(wanted)
        order = filling_order(wanted)
        missed += order is None
        assert order is None or list(map(repr, frozenset(order))) == list(map(repr, wanted))
    assert missed <= 10


def test_what_hashes_by_a_seed_or_an_address_has_no_order() -> None:
    for item in ("a", b"a", None, float("nan"), ("a",), ...):
        assert not is_ordered(frozenset({item, 1}))


def test_an_order_that_is_not_found_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("depyf.decompiler.emit.expressions.literals.filling_order", lambda wanted, twice: None)
    for shape in (LOOP, SPREAD):
        text = decompile(function(shape.replace("SET", "{-1, -2, 6}")))
        assert text.startswith("# Not complete: __const_frozenset")
    assert decompile(function("def f(x):\n    return x in {1, 2, 6}\n")).startswith("def f(x):\n    return x in {")


def test_an_order_that_no_text_of_a_file_gives_is_an_assumption(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("depyf.decompiler.emit.expressions.literals.filling_order", lambda wanted, twice: None)
    for shape in SHAPES:
        unit = CodeUnit.from_code(compile(shape.replace("SET", SETS[0]), "sets", "exec", 0, True))
        verdicts = decompile_unit(without_live(unit)).verdicts
        assert all(v.proven for v in verdicts)
        assert any(SET_NOTE in v.reason for v in verdicts)
        assert Status.EQUIVALENT in {v.status for v in verdicts}


@pytest.mark.parametrize("version", VERSIONS)
def test_the_order_of_text_is_an_assumption(version: tuple[int, int]) -> None:
    """Items that share a place iterate as the set was filled, and a constant set does not tell how it was."""
    need(version)
    loop = "def f():\n    for x in {SET}:\n        print(x)\n"
    for display, noted in (("'a', 'b'", True), ("b'a', 1", True), ("1, 2", False), ("'a', 'a'", False)):
        unit = recompile(loop.replace("SET", display), version).unit
        found = decompile_unit(unit).verdicts
        assert {v.status for v in found} == {Status.IDENTICAL}
        assert any(SEED_NOTE in v.reason for v in found) is noted
    searched = recompile("def f(x):\n    return x in {'a', 'b'}\n", version).unit
    assert not any(v.reason for v in decompile_unit(searched).verdicts)


def test_text_iterates_as_it_was_filled() -> None:
    """What the assumption is about: the same items in the same process, in two orders."""
    names = [f"name{i}" for i in range(64)]
    pairs = [(one, other) for one in names for other in names if one < other]
    assert any(list(frozenset([one, other])) != list(frozenset([other, one])) for one, other in pairs)


def without_live(unit: CodeUnit) -> CodeUnit:
    """As it is read from a file."""
    consts = tuple([without_live(c) if isinstance(c, CodeUnit) else c for c in unit.consts])
    return dataclasses.replace(unit, live=None, consts=consts)


def test_texts_do_not_depend_on_the_seed() -> None:
    source = 'def f(x):\n    for y in {"b", "a", "cc", None, 3, -1, -2}:\n        x(y)\n    return x in {"q", "p", 1}\n'
    program = f"import depyf; s = {{}}; exec({source!r}, s); print(depyf.decompile(s['f']))"
    texts = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "123"
    }
    assert len(texts) == 1
    ast.parse(texts.pop())


@pytest.mark.parametrize("text", MANY)
def test_many_that_are_written_by_size(text: str) -> None:
    """Of code that lives: in a module, whose text can be given no constant, too."""
    found = decompile_unit(CodeUnit.from_code(compile(text, "sets", "exec", 0, True)))
    assert [verdict.status for verdict in found.verdicts] == [Status.IDENTICAL]
    assert ast.literal_eval(found.source) == ast.literal_eval(text)
