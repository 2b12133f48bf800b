"""Compiled text made faithful to the original: bound constants, cells, names, slots, lines.

Plain asserts without pytest, so that any interpreter can run it: ``PYTHONPATH=src python tests/unit/decompiler/bytecode/host/test_patch.py``.
"""

from __future__ import annotations

import dis
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any

from depyf.decompiler.bytecode.host import local_slots
from depyf.decompiler.bytecode.host.assemble import assemble, disassemble
from depyf.decompiler.bytecode.host.patch import bind, relocate, reorder_cells
from depyf.errors import DepyfError

NEW = sys.version_info >= (3, 11)


def compiled(text: str, *path: str) -> types.CodeType:
    """The code object at ``path`` of the compiled ``text``."""
    code = compile(text, "<text>", "exec")
    for name in path:
        code = next(item for item in code.co_consts if isinstance(item, types.CodeType) and item.co_name == name)
    return code


def bound(code: types.CodeType, **tables: Any) -> types.CodeType:
    return bind(code, **{"consts": {}, "cells": {}, "renames": {}, **tables})


def function(code: types.CodeType, *cells: Any, **env: Any) -> Callable[..., Any]:
    closure = tuple(cell if isinstance(cell, types.CellType) else types.CellType(cell) for cell in cells)
    return types.FunctionType(code, {"__builtins__": __builtins__, "__name__": "m", **env}, closure=closure or None)


def raises(call: Callable[[], Any], part: str) -> None:
    try:
        call()
    except DepyfError as error:
        assert part in str(error), str(error)
    else:
        raise AssertionError("no DepyfError")


def shape(code: types.CodeType) -> list[Any]:
    """What must not change when code is only assembled anew."""
    rows: list[Any] = [
        (i.opname, i.argval if not isinstance(i.argval, types.CodeType) else 0) for i in dis.get_instructions(code)
    ]
    rows.append(list(code.co_lines()))
    if NEW:
        rows += [list(code.co_positions()), code.co_exceptiontable]
    return rows


# Assembling.


def test_unchanged_code_assembles_to_itself() -> None:
    import ast
    import asyncio.base_events
    import typing

    for module in (inspect, typing, ast, asyncio.base_events):
        pending = [compile(inspect.getsource(module), "m", "exec")]
        while pending:
            code = pending.pop()
            pending += [item for item in code.co_consts if isinstance(item, types.CodeType)]
            again = assemble(code, disassemble(code))
            assert again.co_code == code.co_code, (code, sys.version)
            assert shape(again) == shape(code), code


# Constants.


class Thing:
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self, args, kwargs


def test_constant_is_the_object() -> None:
    thing = Thing()
    code = compiled("def f():\n    return C\n", "f")
    result = bound(code, consts={"C": thing})
    assert function(result)() is thing
    assert any(item is thing for item in result.co_consts)


def test_equal_constants_stay_apart() -> None:
    one, other = float("1e3"), float("1e3")
    result = bound(compiled("def f():\n    return A, B, A\n", "f"), consts={"A": one, "B": other})
    first, second, third = function(result)()
    assert first is one and second is other and third is one


def test_called_constant() -> None:
    thing = Thing()
    code = compiled("def f(x):\n    return C(x, C, k=C)[0](*x, **{'a': C}), C.__call__(), g(C(C))\n", "f")
    result = bound(code, consts={"C": thing})
    called, method, inner = function(result, g=lambda x: x)((1, 2))
    assert called == (thing, (1, 2), {"a": thing}) and method == (thing, (), {}) and inner == (thing, (thing,), {})


MANY = (
    "def f(x):\n"
    + "".join(f"    x += {n}.5\n" for n in range(300))
    + (
        "    while x > 0:\n"
        "        x -= C\n"
        "        if x < C or C(x):\n"
        "            break\n"
        "        try:\n"
        "            D(x)\n"
        "        except ValueError as error:\n"
        "            x -= D.step(error)\n"
        "    return C, D, x\n"
    )
)


class Step(int):
    def __call__(self, x: float) -> bool:
        return x < 100


class Raiser:
    def __call__(self, x: float) -> None:
        if int(x) % 2:
            raise ValueError(1)

    def step(self, error: ValueError) -> int:
        return int(error.args[0])


def test_more_than_256_constants() -> None:
    step, raiser = Step(3), Raiser()
    code = compiled(MANY, "f")
    result = bound(code, consts={"C": step, "D": raiser})
    found = function(result)(1)
    assert found[0] is step and found[1] is raiser
    assert found == function(code, C=step, D=raiser)(1)
    lines = [line for _, _, line in result.co_lines() if line is not None]
    assert sorted(set(lines)) == sorted({line for _, _, line in code.co_lines() if line is not None})


def test_jump_that_grows() -> None:
    """Only just short jumps, over loads that get longer or shorter."""
    things = {f"C{n}": n for n in range(400)}
    for count in (60, 63, 64, 125, 127, 128, 129, 255, 256, 300):
        body = "".join(f"        x += C{n}\n" for n in range(count))
        code = compiled(f"def f(x):\n    for k in range(3):\n{body}    return x\n", "f")
        assert function(bound(code, consts=things))(1) == 1 + 3 * sum(range(count))


def test_nested() -> None:
    thing = Thing()
    text = (
        "def f(x):\n"
        "    def g(y):\n"
        "        return [C for _ in (lambda: C, y, x)], C(y)\n"
        "    class K:\n"
        "        c = C\n"
        "        d = [C for _ in range(2)]\n"
        "        def m(self):\n"
        "            return C\n"
        "    return g(1), K.c, K.d, K().m()\n"
    )
    result = bound(compiled(text, "f"), consts={"C": thing})
    assert function(result)(0) == (([thing] * 3, (thing, (1,), {})), thing, [thing, thing], thing)


def test_private_names_in_a_class() -> None:
    text = "def f():\n    class _K:\n        a = __c\n        b = __c__\n        def m(self): return __c, __n\n    return _K.a, _K.b, _K().m()\n"
    result = bound(compiled(text, "f"), consts={"__c": 1, "__c__": 2}, renames={"__n": "not a name"})
    assert function(result, **{"not a name": 7})() == (1, 2, (1, 7))


def test_module_and_class_scope() -> None:
    code = bound(compile("a = C\nclass K:\n    b = C\ndel a\nc = C(K.b)", "m", "exec"), consts={"C": Thing()})
    env: dict[str, Any] = {"__name__": "m"}
    exec(code, env)
    assert env["c"][1] == (env["K"].b,) and "a" not in env


def test_annotation_scope_in_a_class() -> None:
    if sys.version_info < (3, 12):
        return
    thing = Thing()
    code = bound(
        compile("class K:\n    type T = C\n    def m[U: C](self): return U.__bound__\n", "m", "exec"),
        consts={"C": thing},
    )
    env: dict[str, Any] = {"__name__": "m"}
    exec(code, env)
    assert env["K"].T.__value__ is thing and env["K"]().m() is thing


def test_generator_and_handlers() -> None:
    text = (
        "def f(xs):\n"
        "    try:\n"
        "        for x in xs:\n"
        "            try:\n"
        "                yield C(x)\n"
        "            except E as e:\n"
        "                yield e, C\n"
        "            finally:\n"
        "                yield 'f', C\n"
        "    finally:\n"
        "        with W(C) as w:\n"
        "            yield w\n"
        "            raise E(C)\n"
    )

    class Guard:
        def __init__(self, value: Any) -> None:
            self.value = value

        def __enter__(self) -> Any:
            return self.value

        def __exit__(self, *exc: Any) -> bool:
            return exc[0] is KeyError

    def convert(x: Any) -> int:
        if x is None:
            raise KeyError(x)
        return int(x)

    result = bound(compiled(text, "f"), consts={"C": convert, "E": KeyError, "W": Guard})
    assert result.co_flags & 0x20
    found = list(function(result)([1, None, "2"]))
    assert [str(item) for item in found] == [
        str(item) for item in (1, ("f", convert), (found[2][0], convert), ("f", convert), 2, ("f", convert), convert)
    ]
    assert isinstance(found[2][0], KeyError)


def test_async() -> None:
    text = (
        "async def f(xs):\n"
        "    out = [C(x) async for x in xs()]\n"
        "    async for x in xs():\n"
        "        if await A(x):\n"
        "            out.append(x)\n"
        "    return out\n"
    )

    async def some() -> Any:
        for x in (1, 2, 3):
            yield x

    async def odd(x: int) -> bool:
        return x % 2 == 1

    result = bound(compiled(text, "f"), consts={"C": str, "A": odd})
    try:
        function(result)(some).send(None)
    except StopIteration as stop:
        assert stop.value == ["1", "2", "3", 1, 3]


def test_lines_and_tracebacks() -> None:
    text = "def f(x):\n    y = (C(x),\n         C(x - 1))\n    return C(\n        y)\n"

    def fail(x: Any) -> int:
        return 1 // x if isinstance(x, int) else len(x)

    code = compiled(text, "f")
    result = bound(code, consts={"C": fail})
    assert function(result)(2) == 2
    for value, line in ((0, 2), (1, 3)):
        try:
            function(result)(value)
        except ZeroDivisionError as error:
            assert error.__traceback__ and error.__traceback__.tb_next
            assert error.__traceback__.tb_next.tb_lineno == line
        else:
            raise AssertionError
    if NEW:
        assert set(result.co_positions()) <= set(code.co_positions())


def test_traced_lines() -> None:
    text = "def f(n):\n    for k in range(n):\n        if k == C:\n            n = C\n        else:\n            n = D(k)\n    return n, C\n"
    code = compiled(text, "f")
    result = bound(code, consts={"C": 2, "D": abs})

    def lines(call: Callable[..., Any]) -> list[int]:
        seen: list[int] = []

        def trace(frame: Any, event: str, arg: Any) -> Any:
            if event == "line" and frame.f_code is call.__code__:  # type: ignore[attr-defined]
                seen.append(frame.f_lineno)
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            call(4)
        finally:
            sys.settrace(before)
        return seen

    assert lines(function(result)) == lines(function(code, C=2, D=abs))


def test_far_lines() -> None:
    text = (
        "def f():\n    x = C\n" + "\n" * 1000 + "    y = (x,\n" + "\n" * 300 + "C)\n    z = C; return x, y, C, C.real\n"
    )
    code = compiled(text, "f")
    result = bound(code, consts={"C": 5})
    before, after = ([line for _, _, line in item.co_lines()] for item in (code, result))
    assert before == after
    assert function(result)() == (5, (5, 5), 5, 5)


def test_nothing_to_do() -> None:
    code = compiled("def f(x):\n    return lambda: x\n", "f")
    assert bound(code, consts={"absent": 1}, cells={"gone": "x"}, renames={"no": "yes"}) is code


# Cells.


def test_cell() -> None:
    text = (
        "def outer():\n"
        "    x = None\n"
        "    def f(a):\n"
        "        if 0: (lambda: (x, a))\n"
        "        b = 1\n"
        "        c = lambda: b\n"
        "        return c_x, c_a, c_b, c(), a\n"
    )
    code = bound(compiled(text, "outer", "f"), cells={"c_x": "x", "c_a": "a", "c_b": "b"})
    cell = types.CellType(5)
    x, a, b, value, arg = function(code, cell)(6)
    assert x is cell and a.cell_contents == arg == 6 and b.cell_contents == value == 1


def test_called_cell() -> None:
    code = bound(compiled("def f():\n    x = 1\n    return g(c_x), (lambda: x)()\n", "f"), cells={"c_x": "x"})
    cell, value = function(code, g=lambda item: item)()
    assert cell.cell_contents == value == 1
    code = bound(compiled("def f():\n    x = 1\n    return c_x(), (lambda: x)()\n", "f"), cells={"c_x": "x"})
    try:
        function(code)()
    except TypeError as error:
        assert "'cell' object is not callable" in str(error)


def test_renamed_cell() -> None:
    code = compiled("def f(x_):\n    return c_x, lambda: x_\n", "f")
    code = bound(code, cells={"c_x": "x"}, renames={"x_": "x"})
    assert function(code)(3)[0].cell_contents == 3 and code.co_cellvars == ("x",)


def test_cell_that_is_none() -> None:
    raises(
        lambda: bound(compiled("def f(x):\n    return c_x\n", "f"), cells={"c_x": "x"}), "compiled function has none"
    )


# Names.


def test_renames() -> None:
    text = (
        "def f(a_, *, k_):\n"
        "    import m_.n_ as i_\n"
        "    from m_ import n_\n"
        "    l_ = a_.at_ + g_\n"
        "    def h_(): return k_, l_\n"
        "    class c_: pass\n"
        "    match a_:\n"
        "        case C(at_=at): pass\n"
        "    return h_, c_, locals(), at\n"
    )
    renames = {name + "_": name + "?" for name in ("a", "k", "m", "n", "i", "at", "g", "l", "h", "c")}
    code = bound(compiled(text, "f"), renames=renames)
    assert code.co_varnames[:2] == ("a?", "k?")
    module = types.ModuleType("m?")
    module.__path__ = []  # type: ignore[attr-defined]
    setattr(module, "n?", 3)

    class Holder:
        pass

    value = Holder()
    setattr(value, "at?", 4)
    sys.modules["m?"] = sys.modules["m?.n?"] = module
    try:
        inner, made, names, at = function(code, **{"g?": 1, "C": Holder})(**{"a?": value, "k?": 2})
    finally:
        del sys.modules["m?"], sys.modules["m?.n?"]
    assert inner() == (2, 5) and at == 4 and inner.__closure__ is not None
    assert inner.__name__ == "h?" and inner.__qualname__ == "f.<locals>.h?" and inner.__code__.co_name == "h?"
    assert made.__name__ == "c?" and made.__qualname__ == "f.<locals>.c?"
    assert set(names) == {"a?", "k?", "i?", "n?", "l?", "h?", "c?", "at"}
    assert inner.__code__.co_freevars == ("k?", "l?")


def test_keyword_names_are_left_alone() -> None:
    code = bound(compiled("def f(x_):\n    return g(x_=x_), 'x_', {'x_': 1}\n", "f"), renames={"x_": "x?"})
    assert function(code, g=lambda **kw: kw)(1) == ({"x_": 1}, "x_", {"x_": 1})


def test_rename_onto_another_variable() -> None:
    code = compiled("def f(a, b):\n    return a, b\n", "f")
    raises(lambda: bound(code, renames={"a": "b"}), "same name")


# Templates.


def template(text: str, *path: str) -> types.CodeType:
    return compiled(text, *path)


def test_template_gives_name_and_flags() -> None:
    text = "def outer():\n    x = None\n    def f(a):\n        return (lambda: C)(), x, a\n"
    original = template("def k(x):\n    def g(a):\n        return (lambda: x)(), x, a\n", "k", "g")
    thing = Thing()
    code = bound(compiled(text, "outer", "f"), consts={"C": thing}, template=original)
    assert (code.co_name, code.co_freevars) == ("g", ("x",))
    assert code.co_flags & 0x10
    inner = next(item for item in code.co_consts if isinstance(item, types.CodeType))
    assert function(code, 1)(2) == (thing, 1, 2)
    if NEW:
        assert code.co_qualname == original.co_qualname == "k.<locals>.g"
        assert inner.co_qualname == "k.<locals>.g.<locals>.<lambda>"


def test_nested_qualified_names() -> None:
    text = (
        "def outer():\n"
        "    x = None\n"
        "    def f():\n"
        "        def g(): return x\n"
        "        class K:\n"
        "            def m(self): pass\n"
        "        return g, K, K.m\n"
    )
    original = template(text.replace("outer", "real").replace("def f", "def f2"), "real", "f2")
    code = bound(compiled(text, "outer", "f"), template=original)
    names = [item.__qualname__ for item in function(code, 1)()]
    assert names == [f"real.<locals>.f2.<locals>.{name}" for name in ("g", "K", "K.m")]


def test_template_differs() -> None:
    code = compiled("def f(a, b):\n    return a\n", "f")
    cases = {
        "def f(a, c): return a": "arguments (a, b)",
        "def f(a): return a": "co_argcount is 2",
        "def f(a, *, b): return a": "co_argcount is 2",
        "def f(a, b, /): return a": "co_posonlyargcount",
        "def f(a, b, *c): return a": "flags",
        "def f(a, b): yield a": "flags",
        "def f(a, b): return lambda: a": "cell variables are (), not (a)",
    }
    for text, part in cases.items():
        raises(lambda text=text, part=part: bound(code, template=template(text, "f")), part)  # type: ignore[misc]
    original = template("def o(z):\n    def f(a, b): return z\n", "o", "f")
    raises(lambda: bound(code, template=original), "free variables are (), not (z)")


def test_locals_are_not_fewer() -> None:
    text = (
        "def outer():\n"
        "    y = None\n"
        "    def f(a, b, *c, d=1, **e):\n"
        "        x = a; z = b\n"
        "        g = lambda: (x, a, y, z)\n"
        "        x += 1\n"
        "        try:\n"
        "            [(lambda: k) for k in c if k]\n"
        "            del z; z\n"
        "        except NameError as error:\n"
        "            z = b, error.args\n"
        "        return g(), a, b, c, d, e, x, y, z, locals()\n"
    )
    code = compiled(text, "outer", "f")
    for count in (1, 10, 14, 300):
        names = "".join(f"        v{n} = {n}\n" for n in range(count))
        original = template(text.replace("        x = a", names + "        x = a"), "outer", "f")
        result = bound(code, template=original)
        assert result.co_nlocals == len(result.co_varnames) == max(original.co_nlocals, code.co_nlocals)
        found = function(result, 5)(1, 2, 3, 0, d=4, q=6)
        expected = function(code, 5)(1, 2, 3, 0, d=4, q=6)
        assert repr(found).replace("0x", "")[:120] == repr(expected)[:120].replace("0x", "")
        assert found[:9] == expected[:9] and set(found[9]) == set(expected[9])


def test_reordered_cells() -> None:
    text = (
        "def outer():\n"
        "    p = q = r = None\n"
        "    def f(a, b):\n"
        "        x = a; y = b; z = p\n"
        "        def g():\n"
        "            nonlocal x, q\n"
        "            x += 1; q += 1\n"
        "            return x, y, z, p, q, r, a\n"
        "        del y\n"
        "        try:\n"
        "            y\n"
        "        except NameError as error:\n"
        "            y = error.args[0]\n"
        "        class K:\n"
        "            v = y\n"
        "            w = z\n"
        "        return g(), x, y, z, p, q, r, a, b, K.v, K.w, [x + w for w in (1, 2)]\n"
    )
    code = compiled(text, "outer", "f")
    cells = ("a", "z", "x", "y")
    result = reorder_cells(code, cells, ("r", "p", "q"))
    assert (result.co_cellvars, result.co_freevars) == (cells, ("r", "p", "q"))
    assert function(result, 30, 10, 20)(1, 2) == function(code, 10, 20, 30)(1, 2)
    assert reorder_cells(result, code.co_cellvars, code.co_freevars).co_code == code.co_code
    raises(lambda: reorder_cells(code, ("a",), code.co_freevars), "cell variables")
    raises(lambda: reorder_cells(code, code.co_cellvars, ("p",)), "free variables")


def test_reordered_cells_of_an_inlined_comprehension() -> None:
    """From 3.12 on ``k`` is a local and a cell, and its slot is saved around the comprehension."""
    text = (
        "def f(a, k0):\n"
        "    x = 1; y = 2\n"
        "    fs = [lambda: (k, x) for k in a]\n"
        "    gs = [[(lambda: (j, k)) for j in (1, 2)] for k in a]\n"
        "    return [g() for g in fs], [[g() for g in row] for row in gs], (lambda: (y, x))(), k0\n"
    )
    code = compiled(text, "f")
    order = tuple(sorted(code.co_cellvars, reverse=True))
    result = reorder_cells(code, order, ())
    assert result.co_cellvars == order
    assert function(result)((1, 2), 3) == function(code)((1, 2), 3)
    big = template(text.replace("x = 1;", "x = 1; " + "".join(f"v{n} = " for n in range(40)) + "0;"), "f")
    assert bound(code, template=big).co_nlocals == big.co_nlocals
    assert function(bound(code, template=big))((1, 2), 3) == function(code)((1, 2), 3)


def test_slots_that_move_in_place_as_when_assembled() -> None:
    """Where no instruction gets another length, the bytes are those that assembling would give, and nothing else changes."""
    text = (
        "def outer():\n"
        "    p = q = None\n"
        "    def f(a, b):\n"
        "        x = a; y = p\n"
        "        try:\n"
        "            return lambda: (x, y, p), x + q, b\n"
        "        finally:\n"
        "            x = q\n"
        "    return f\n"
    )
    code = compiled(text, "outer", "f")
    big = template(text.replace("x = a;", "x = a; " + "".join(f"v{n} = " for n in range(40)) + "0;"), "outer", "f")
    result = bound(code, template=big)
    in_place, local_slots._in_place = local_slots._in_place, lambda code, moved: None
    try:
        assembled = bound(code, template=big)
    finally:
        local_slots._in_place = in_place
    assert result.co_code == assembled.co_code
    assert shape(result) == shape(assembled)
    far = template(text.replace("x = a;", "x = a; " + "".join(f"v{n} = " for n in range(400)) + "0;"), "outer", "f")
    assert bound(code, template=far).co_nlocals == far.co_nlocals  # by way of the assembler: EXTENDED_ARG
    assert function(bound(code, template=far), 1, 2)(3, 4)[1:] == (5, 4)


def test_pairs_of_locals_that_move_apart() -> None:
    """3.13+ has one instruction for two slots below 16."""
    text = (
        "def f(a):\n"
        "    s = [(lambda: (u, w)) for u in a for w in a]\n"
        "    p = a; q = p; r = q; p, q = q, r\n"
        "    return [g() for g in s], p, q, r\n"
    )
    code = compiled(text, "f")
    original = template(text.replace("    s =", "    " + "".join(f"v{n} = " for n in range(300)) + "0\n    s ="), "f")
    result = bound(code, template=original)
    assert function(result)((1, 2)) == function(code)((1, 2))


# Places.


def test_relocate() -> None:
    text = "\n\n\ndef f(x):\n    def g():\n        return 1 // x\n    class K:\n        z = 1\n        y = x\n    return g, K\n"
    code = relocate(compiled(text, "f"), "there.py", 100)
    assert (code.co_filename, code.co_firstlineno) == ("there.py", 100)
    inner, made = function(code)(0)
    assert (inner.__code__.co_filename, inner.__code__.co_firstlineno) == ("there.py", 101)
    assert getattr(made, "__firstlineno__", 103) == 103
    try:
        inner()
    except ZeroDivisionError as error:
        assert error.__traceback__ and error.__traceback__.tb_next
        assert error.__traceback__.tb_next.tb_lineno == 102
    assert [line for _, _, line in code.co_lines() if line][-1] == 106


def main() -> None:
    """Run every test here; the last line says how many there were."""
    tests = [item for name, item in globals().items() if name.startswith("test_")]
    for test in tests:
        test()
    print(f"{sys.version.split()[0]}: {len(tests)} tests passed")


if __name__ == "__main__":
    main()
