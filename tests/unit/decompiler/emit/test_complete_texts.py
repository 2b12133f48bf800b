"""A text that is not complete by itself says so in its first line, or defines what it needs."""

from __future__ import annotations
import __future__

import ast
import enum
import math
import types
from pathlib import Path
from typing import Any

import pytest

import depyf
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.bytecode.files.unmarshal import loads
from depyf.decompiler.driver.pipeline import TOP_LEVEL_AWAIT, Decompiled, decompile_code, decompile_unit
from depyf.decompiler.verify import Status, verify
from depyf.decompiler.verify.assumptions import FEATURE_NOTE
from depyf.decompiler.verify.recompiling.worker import worker_for
from depyf.run.records import CodeRecord, CompileKey, TransformedRecord
from depyf.views.pages.function_pages import transformed_page
from needs import need

VERSIONS = [(3, minor) for minor in range(8, 16)]
ANNOTATIONS = __future__.annotations.compiler_flag
FLUFL = __future__.barry_as_FLUFL.compiler_flag


class Colour(enum.Enum):
    RED = 1


def function(source: str, **names: object) -> types.FunctionType:
    """The function that ``source`` defines, compiled under no feature of this file's."""
    space = dict(names)
    exec(compile(source, "subject", "exec", 0, True), space)
    found = list(space.values())[-1]
    assert isinstance(found, types.FunctionType)
    return found


def holding(value: object) -> types.CodeType:
    """A function whose constant is ``value``."""
    code = function("def held():\n    return 'CONSTANT'\n").__code__
    return code.replace(co_consts=tuple([value if const == "CONSTANT" else const for const in code.co_consts]))


def named(**names: str) -> types.CodeType:
    code = function("def told(x):\n    return attribute(x.attribute)\n").__code__
    return code.replace(co_names=tuple([names.get(name, name) for name in code.co_names]))


def called(text: str, name: str = "held") -> Any:
    space: dict[str, Any] = {}
    exec(compile(text, "shown", "exec", dont_inherit=True), space)
    return space[name]()


INSIDE = (frozenset({8, 16}), slice(1, "x"))


@pytest.mark.parametrize(
    "value",
    [
        *(type(None), type(...), type(NotImplemented), int, dict, len, math, math.sqrt, types.SimpleNamespace, pytest),
        *(frozenset(), frozenset({1, 2}), slice(1, None, 2)),
        *((1, int), INSIDE, float("nan"), depyf.errors, depyf.decompile, ValueError),
    ],
    ids=lambda value: getattr(value, "__name__", "") or repr(value),
)
def test_what_can_be_defined_is(value: object) -> None:
    text = depyf.decompile(holding(value))
    assert not text.startswith("#")
    found = called(text)
    assert type(found) is type(value)
    assert repr(found) == repr(value)  # the order of sets, and nan
    if not isinstance(value, (tuple, frozenset, slice, float)):
        assert found is value


@pytest.mark.parametrize(
    "value",
    [[], {}, object(), Colour.RED, lambda: 0, holding(1), types.ModuleType("math"), [1]],
    ids=lambda v: type(v).__name__,
)
def test_what_cannot_be_is_named_in_the_first_line(value: object) -> None:
    text = depyf.decompile(holding(value))
    first, second = text.splitlines()[:2]
    assert first.startswith("# Not complete: __const_")
    assert second == "def held():"
    with pytest.raises(NameError):
        called(text)


@pytest.mark.parametrize("name", ["a b", "", "1", "x.y", "a\nimport os", "@py_ar"])
def test_names_that_no_source_can_have(name: str) -> None:
    text = depyf.decompile(named(attribute=name))
    first, *rest = text.splitlines()
    assert first.startswith("# Not complete: ")
    assert repr(name)[1:-1] in first.replace("\\\\", "\\")
    assert rest[0].startswith("def told(")


def test_default_values_without_a_text() -> None:
    f = function("def f(a=object(), *, b=object()):\n    return a, b\n")
    first, second = depyf.decompile(f).splitlines()[:2]
    assert first.startswith("# Not complete: __default_a is a default value without a literal; __default_b is")
    assert second == "def f(a=__default_a, *, b=__default_b):"


def test_definitions_stand_behind_the_future() -> None:
    code = holding(frozenset({1}))
    text = depyf.decompile(code.replace(co_flags=code.co_flags | ANNOTATIONS))
    assert text.startswith("from __future__ import annotations\n__const_frozenset = frozenset([1])\n\n\ndef held():\n")
    assert called(text) == frozenset({1})


@pytest.mark.parametrize(("mode", "text"), [("eval", "a + b\n"), ("single", "a + b\n")])
def test_other_modes(mode: str, text: str) -> None:
    first, rest = depyf.decompile(compile(text, "prompt", mode, 0, True)).split("\n", 1)
    assert rest == text
    assert first.startswith("# Not complete: ")
    assert f'"{mode}"' in first
    again = compile(f"{first}\n{rest}", "prompt", mode, 0, True)
    assert depyf.decompile(again) == f"{first}\n{rest}"


def test_await_outside_of_a_function() -> None:
    code = compile("await x\n", "cell", "exec", TOP_LEVEL_AWAIT, True)
    assert depyf.decompile(code).startswith("# Not complete: it awaits outside of a function")


CELL = '''"""Of a notebook."""
import os
class C:
    x: Undefined = 1
def f(x: Undefined, *, y: "a" = 2) -> [n for n in Undefined]:
    """Doc."""
    return x, y, lambda: os
z: Undefined = f(1)
'''


def compiled(version: tuple[int, int], text: str, flags: int, mode: str = "exec") -> CodeUnit:
    need(version)
    return loads(worker_for(version).compile(text, flags, 0, mode), version)


def decompiled(version: tuple[int, int], text: str, flags: int, mode: str = "exec") -> Decompiled:
    return decompile_unit(compiled(version, text, flags, mode))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("mode", ["exec", "single"])
def test_a_feature_by_a_flag_is_imported(version: tuple[int, int], mode: str) -> None:
    found = decompiled(version, CELL, ANNOTATIONS, mode)
    assert "from __future__ import annotations\n" in found.source
    assert found.verdicts[0].status is Status.EQUIVALENT
    assert FEATURE_NOTE in found.verdicts[0].reason
    assert {v.status for v in found.verdicts[1:]} == {Status.IDENTICAL}
    again = loads(worker_for(version).compile(found.source, 0, 0, mode), version)
    assert not verify(compiled(version, CELL, ANNOTATIONS, mode), again)[0].proven  # the import is more than it does


def test_the_text_of_a_cell_runs() -> None:
    code = compile(CELL, "cell", "exec", ANNOTATIONS, True)
    first: dict[str, Any] = {}
    second: dict[str, Any] = {}
    exec(code, first)
    exec(compile(depyf.decompile(code), "shown", "exec", dont_inherit=True), second)
    assert second.pop("annotations") is __future__.annotations
    assert set(first) == set(second)
    assert first["f"].__annotations__ == second["f"].__annotations__
    assert first["__annotations__"] == second["__annotations__"]
    assert first["__doc__"] == second["__doc__"]


def test_the_name_of_a_feature_is_left_to_the_program() -> None:
    source = "def annotations(x: Undefined): return annotations\n"
    code = compile(source, "cell", "exec", ANNOTATIONS, True)
    text = depyf.decompile(code)
    assert text.startswith("from __future__ import annotations as annotations_2\n")
    space: dict[str, Any] = {}
    exec(compile(text, "shown", "exec", dont_inherit=True), space)
    assert space["annotations"](1) is space["annotations"]


@pytest.mark.parametrize("version", VERSIONS)
def test_an_import_that_the_code_has_is_not_repeated(version: tuple[int, int]) -> None:
    text = "from __future__ import annotations\n\n\ndef f(x: y):\n    return x\n"
    found = decompiled(version, text, 0)
    assert found.source == text
    assert {v.status for v in found.verdicts} == {Status.IDENTICAL}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("source", ["x = a <> b\ndef f(x):\n    return x <> 1\n"])
def test_not_equal_as_a_joke(version: tuple[int, int], source: str) -> None:
    found = decompiled(version, source, FLUFL)
    assert found.source.startswith("from __future__ import barry_as_FLUFL\n")
    assert all(v.proven for v in found.verdicts)
    worker_for(version).compile(found.source)  # as it is


def test_other_imports_of_the_future_are_not_overlooked() -> None:
    original = CodeUnit.from_code(compile("x = 1\n", "m", "exec", ANNOTATIONS, True))
    for text in (
        "from __future__ import annotations\nx = 2\n",
        "from __future__ import annotations as other\nx = 1\n",
        "from __future__ import annotations, division\nx = 1\n",
        "from __future__ import annotations\nx = 1\nannotations\n",
        "from __future__ import annotations\nx = 1\ndef f(): annotations\n",
    ):
        made = CodeUnit.from_code(compile(text, "m", "exec", 0, True))
        assert not verify(original, made, features=("annotations",))[0].proven
    made = CodeUnit.from_code(compile("from __future__ import annotations\nx = 1\n", "m", "exec", 0, True))
    assert verify(original, made, features=("annotations",))[0].status is Status.EQUIVALENT
    assert not verify(original, made)[0].proven


def test_an_expression_under_a_feature() -> None:
    text = depyf.decompile(compile("f(lambda: 1)", "e", "eval", ANNOTATIONS, True))
    assert text.startswith("# Not complete: ")
    assert "from __future__ import annotations" in text.splitlines()[0]


def test_what_is_shown_is_python_with_the_same_code() -> None:
    found = decompile_code(function("def f(x):\n    return x + 1\n").__code__)
    assert found.shown == found.source
    assert found.needs == ()
    ast.parse(found.shown)


def test_the_page_of_a_dump_says_it_too() -> None:
    record = TransformedRecord("def f():\n    return __const_list\n", True, "", (), (), (), ("__const_list is a list",))
    code = CodeRecord("f", "f", "f.py", 1, (), (), (), None, None, ())
    page = transformed_page(CompileKey(0, "0/0"), code, record, "")
    lines = page.text.splitlines()
    assert "# Not complete by itself: __const_list is a list." in lines[: page.first_line]
    assert lines[page.first_line - 1] == "def f():"


@pytest.mark.parametrize(
    ("value", "flagged"), [(1, False), (float("nan"), False), (frozenset({8, 16}), False), (Colour.RED, True)]
)
def test_a_file_beside_the_recompiled_code_is_complete(value: object, flagged: bool, tmp_path: Path) -> None:
    """It is what ``decompile`` shows, and the lines of the code are those of the file."""
    source = "def held(x):\n    x.append('CONSTANT')\n    return x.missing\n"
    code = function(source).__code__
    code = code.replace(co_consts=tuple([value if const == "CONSTANT" else const for const in code.co_consts]))
    made = depyf.Decompiler.decompile_and_compile_like(code, code, filepath_template=str(tmp_path / "%s.py"))
    text = (tmp_path / "held.py").read_text(encoding="utf-8")
    assert text == depyf.decompile(code)
    assert text.startswith("# Not complete: ") is flagged
    assert made.co_filename == str(tmp_path / "held.py")
    given: list[object] = []
    with pytest.raises(AttributeError) as caught:
        types.FunctionType(made, {})(given)
    assert repr(given) == repr([value])
    assert text.splitlines()[caught.tb.tb_next.tb_lineno - 1] == "    return x.missing"
    assert text.splitlines()[made.co_firstlineno - 1] == "def held(x):"


@pytest.mark.parametrize("name", ["../out", "a/b", "a\nb", "\ud800", "<lambda>"])
def test_the_name_of_a_function_is_a_file_name(name: str, tmp_path: Path) -> None:
    code = function("def held(x):\n    return x\n").__code__.replace(co_name=name)
    inside = tmp_path / "inside"
    inside.mkdir()
    made = depyf.Decompiler.decompile_and_compile_like(code, code, filepath_template=str(inside / "%s.py"))
    (file,) = inside.iterdir()
    assert made.co_filename == str(file)
    assert [path.name for path in tmp_path.iterdir()] == ["inside"]
