"""What only generated code contains: objects as constants, names that are no identifiers, cells, clashes of scope."""

from __future__ import annotations

import ast
import enum
import math
import struct
from dataclasses import replace
from typing import Any

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.emit import EmitOptions, emit_function, emit_module
from depyf.decompiler.emit.expressions.literals import literal, set_display
from depyf.decompiler.emit.expressions.quoting import clean, docstring, string
from depyf.decompiler.ir.expr import (
    Bin,
    CellOf,
    Cond,
    Const,
    Display,
    Expr,
    Fmt,
    FStr,
    Func,
    Invoke,
    Name,
    Star,
    Sub,
    Temp,
)
from depyf.decompiler.ir.markers import CommonConstant, NullSlot
from depyf.decompiler.ir.stmt import Assign, Block, Exit, ExprStmt, If, Loop, Return, Stmt, While
from from_ast import unit_of


def function_unit(name: str = "f", *params: str, **fields: Any) -> CodeUnit:
    code = compile("def f(): pass", "<test>", "exec", dont_inherit=True).co_consts[0]
    base = unit_of(code, (3, 11))
    return replace(base, name=name, qualname=name, argcount=len(params), varnames=params, **fields)


def text_of(*body: Stmt, unit: CodeUnit | None = None, **options: Any) -> str:
    return emit_function(unit or function_unit(), body, options=EmitOptions(**options)).text


def value_of(node: Expr) -> str:
    return text_of(Return(node)).split("return ")[1].strip()


class Colour(enum.Enum):
    RED = 1


class Number(int):
    pass


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (math, "__const_math"),
        (math.sqrt, "__const_math_sqrt"),
        (struct.Struct, "__const_struct_Struct"),
        (int, "__const_int"),
        (Colour.RED, "__const_Colour_RED"),
        (Number(3), "__const_Number"),
        ((1, int), "__const_tuple"),
        (frozenset({1}), "__const_frozenset"),
        (function_unit("g"), "__const_code_g"),
        (object(), "__const_object"),
    ],
)
def test_objects(value: object, name: str) -> None:
    emitted = emit_function(function_unit(), (Return(Const(value)),))
    assert emitted.text.endswith(f"return {name}\n")
    assert emitted.consts[name] is value


def test_objects_of_one_name_are_told_apart() -> None:
    one, two = object(), object()
    pair = Display("tuple", (Const(one), Const(two), Const(one)))
    emitted = emit_function(function_unit("f", "__const_object"), (Return(pair),))
    assert emitted.text.split("return ")[1] == "__const_object_2, __const_object_3, __const_object_2\n"
    assert emitted.consts == {"__const_object_2": one, "__const_object_3": two}


@pytest.mark.parametrize(
    "value",
    [
        0,
        -1,
        10**30,
        1 << 20000,
        0.1,
        -0.0,
        math.inf,
        -math.inf,
        1e-320,
        "a\n'\"\\",
        "�",
        "\x00\x85",
        b"'\"\n\xff",
        1j,
        -1j,
        1 + 2j,
        -1.5 - 2j,
        complex(-0.0, 1),
        complex(0.0, -1),
        complex(math.inf, -math.inf),
        complex(0.0, -0.0),
        (),
        (1,),
        ((1, "a"), None),
        True,
        ...,
    ],
    ids=lambda value: repr(value)[:20] if not isinstance(value, int) or value < 1 << 100 else "huge",
)
def test_literals_are_exact(value: object) -> None:
    text = literal(value)
    if text is None:
        assert isinstance(value, complex)
        assert value.imag == 0
        return
    again = eval(text)
    assert type(again) is type(value)
    if type(value) is int:
        assert again == value
    else:
        assert repr(again) == repr(value)


def test_constant_sets() -> None:
    unit = function_unit("f")
    assert set_display(frozenset({"b", "a"}), unit) == '{"a", "b"}'
    assert set_display(frozenset(), unit) is None


@pytest.mark.parametrize("value", ["", '"', 'a\'\'\'b""""', "a\\", "\t\r\n x", 'a"', "é\u2028\ud800\n\n  b\n"])
def test_docstrings(value: str) -> None:
    assert ast.literal_eval(docstring(value, "    ", False)) == value
    tidy = clean(value)
    assert clean(ast.literal_eval(docstring(tidy, "    ", True))) == tidy
    assert ast.literal_eval(string(value)) == value


def test_illegal_names() -> None:
    unit = function_unit("<graph break in fn>", ".0", "class", names=("foo.bar", "class_"))
    names = [Name(".0", "fast"), Name("class", "fast"), Name("foo.bar", "global"), Name("class_", "global")]
    emitted = emit_function(unit, (Return(Display("tuple", tuple(names))),))
    assert emitted.text == "def graph_break_in_fn(_0, 𝐜lass):\n    return _0, 𝐜lass, foo_bar, class_\n"
    assert emitted.renames == {
        "graph_break_in_fn": "<graph break in fn>",
        "_0": ".0",
        "foo_bar": "foo.bar",
    }
    assert emitted.path == ("graph_break_in_fn",)


def test_keywords_that_are_no_identifiers() -> None:
    call = Invoke(Name("f", "global"), (), (("a b", Const(1)), ("c", Const(2))))
    assert value_of(call) == 'f(**{"a b": 1}, c=2)'


def test_overwritten_name() -> None:
    assert emit_function(function_unit(), (), name="my name").text == "def my_name():\n    pass\n"


def test_one_name_as_global_and_local() -> None:
    unit = function_unit("f", "x", names=("x",))
    emitted = emit_function(unit, (Return(Bin("+", Name("x", "fast"), Name("x", "global"))),))
    assert emitted.text == "def f(x):\n    return x + x_global\n"
    assert emitted.renames == {"x_global": "x"}


def test_closure() -> None:
    unit = function_unit("toy", freevars=("a", "b"), names=("toy",))
    body = (Assign((Name("a", "cell"),), Name("toy", "global")),)
    emitted = emit_function(unit, body)
    assert emitted.text.split("\n") == [
        "def __make_toy(a, b):",
        "    global toy",
        "    def toy():",
        "        nonlocal a, b",
        "        a = toy",
        "    return toy",
        "",
    ]
    assert emitted.path == ("__make_toy", "toy")


def test_dead_bindings() -> None:
    unit = function_unit("f", cellvars=("c",))
    text = text_of(Return(Name("x", "fast")), unit=unit)
    assert text == "def f():\n    if 0: c = x = None\n    if 0: shared = lambda: c\n    return x\n"


def test_cells() -> None:
    unit = function_unit("f", freevars=("c",))
    assert "return (lambda: c).__closure__[0]" in text_of(Return(CellOf("c")), unit=unit)
    emitted = emit_function(unit, (Return(CellOf("c")),), options=EmitOptions(cells="name"))
    assert emitted.cells == {"__cell_c": "c"}
    assert "        nonlocal c\n        return __cell_c\n" in emitted.text


def test_lambda_with_branches() -> None:
    unit = function_unit("<lambda>", "x")
    test = Name("x", "fast")
    emitted = emit_function(unit, (If(test, (Return(Const(1)),)), Return(Const(2))))
    assert emitted.text == "lambda_ = lambda x: 1 if x else 2\n"
    assert emitted.path == ("<lambda>",)


def test_functions_that_are_no_lambdas_are_hoisted() -> None:
    inner = Func(function_unit("<listcomp>", ".0"), (Return(Name(".0", "fast")),))
    body = (Return(Invoke(inner, (Const(1),))),)
    emitted = emit_function(function_unit(), body)
    assert emitted.text == "def f():\n    def listcomp(_0):\n        return _0\n\n    return listcomp(1)\n"
    chain = If(Name("a", "global"), (), (If(Invoke(inner, ()), ()),))
    assert "else:\n" in text_of(chain)
    with pytest.raises(Exception, match="made where no statement can be put"):
        text_of(While(Invoke(inner, ()), ()))


def test_in_place_operators() -> None:
    value = Bin("+=", Name("x", "fast"), Const(1))
    unit = function_unit("f", "x", "y")
    assert "    x += 1\n" in text_of(Assign((Name("x", "fast"),), value), unit=unit)
    text = text_of(Assign((Name("y", "fast"),), value), unit=unit)
    assert text.endswith("    __temp_inplace = x\n    __temp_inplace += 1\n    y = __temp_inplace\n")


def test_temporaries_keep_clear_of_names() -> None:
    unit = function_unit("f", "__temp_1")
    assert "return __temp__1" in text_of(Return(Temp(1)), unit=unit)


def test_markers() -> None:
    emitted = emit_function(function_unit(), (Return(CommonConstant("AssertionError")),))
    assert emitted.consts == {"AssertionError": AssertionError}
    with pytest.raises(Exception, match="the stack slot NullSlot is left"):
        text_of(Return(NullSlot()))


def test_constant_statements_leave_nothing() -> None:
    assert text_of(ExprStmt(Const("no docstring"))) == "def f():\n    pass\n"


def test_strings_without_quotes_left_become_constants() -> None:
    inner = Sub(Name("x", "global"), Const("\\\n'\""))
    emitted = emit_function(function_unit(), (Return(FStr((Fmt(inner, "", None), "y"))),))
    assert emitted.text.endswith('return f"{x[__const_str]}y"\n')
    assert emitted.consts == {"__const_str": "\\\n'\""}


def test_starred_constant_set() -> None:
    assert value_of(Display("set", (Star(Const(frozenset({2, 1}))),))) == "{*{1, 2}}"


def test_deep_nesting() -> None:
    node: Expr = Name("x", "global")
    for _ in range(3000):
        node = Bin("+", node, Const(1))
    assert value_of(node).count("+") == 3000
    node = Const(0)
    for _ in range(3000):
        node = Cond(Name("x", "global"), Const(1), node)
    assert value_of(node).count("if") == 3000
    branch: Stmt = If(Name("x", "global"), ())
    for _ in range(3000):
        branch = If(Name("x", "global"), (), (branch,))
    assert text_of(branch).count("elif") == 3000


def test_chains_of_calls_nest_at_any_depth() -> None:
    node: Expr = Name("x", "global")
    for _ in range(30000):
        node = Invoke(node, ())
    assert text_of(Return(node)).count("()") > 30000


def test_labelled_dialect() -> None:
    body = (Block(1, (Loop(2, (Exit(1),)),)),)
    emitted = emit_function(function_unit(), body)
    assert emitted.labelled
    assert emitted.text == "def f():\n    block L1:\n        loop L2:\n            goto L1\n"


def test_future_features() -> None:
    unit = function_unit("f", flags=0x1000003)
    assert emit_function(unit, ()).text.startswith("from __future__ import annotations\n\n\ndef f():")


def test_flags_decide_async() -> None:
    assert emit_function(function_unit("f", flags=0x83), ()).text == "async def f():\n    pass\n"
    generator = emit_function(function_unit("f", flags=0x23), ()).text
    assert generator == "def f():\n    return\n    yield\n"


def test_same_input_same_text() -> None:
    unit = function_unit("f", names=("a", "b"))
    body = (Return(Display("tuple", (Const(object), Const(frozenset({"x", "y"})), Name("a", "global")))),)
    assert emit_function(unit, body).text == emit_function(unit, body).text


def test_module_docstring() -> None:
    unit = CodeUnit.from_code(compile('"""Doc."""\nx = 1\n', "<test>", "exec", dont_inherit=True))
    body = (Assign((Name("__doc__", "name"),), Const("Doc.")), Assign((Name("x", "name"),), Const(1)))
    assert emit_module(unit, body).text == '"""Doc."""\n\nx = 1\n'
