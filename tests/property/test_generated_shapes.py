"""Code as Dynamo writes it: iterators as arguments, loops entered in the middle, cells and live constants as values."""

from __future__ import annotations

import sys
import types

import pytest

from depyf import decompile
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.driver.pipeline import decompile_unit
from depyf.decompiler.options import Options
from tools.fuzz.bytecode import assembler
from tools.fuzz.bytecode.assembler import Item, Label, Op

pytestmark = pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the call sequences are those of 3.11")


def code_of(
    items: list[Item],
    args: tuple[str, ...],
    local: tuple[str, ...] = (),
    consts: tuple[object, ...] = (None,),
    names: tuple[str, ...] = (),
    free: tuple[str, ...] = (),
) -> types.CodeType:
    def f() -> None: ...

    template = f.__code__.replace(
        co_name="f",
        co_qualname="f",
        co_names=names,
        co_varnames=args + local,
        co_argcount=len(args),
        co_nlocals=len(args + local),
        co_freevars=free,
        co_flags=3 | (16 if free else 0),
    )
    return assembler.assemble(items, template, consts, 30)


def resume_in_loop() -> types.CodeType:
    head, body, end = Label(), Label(), Label()
    items: list[Item] = [Op("RESUME"), Op("LOAD_FAST", 0), Op("JUMP", body), head, Op("FOR_ITER", end)]
    items += [Op("STORE_FAST", 1), body, Op("LOAD_FAST", 2), Op("LOAD_FAST", 1), Op("BINARY_OP", 13)]
    items += [Op("STORE_FAST", 2), Op("JUMP", head), end, Op("LOAD_FAST", 2), Op("RETURN_VALUE")]
    return code_of(items, ("___stack0", "x", "y"))


def fresh_list() -> types.CodeType:
    items: list[Item] = [Op("RESUME"), Op("LOAD_FAST", 0), Op("BUILD_LIST", 1), Op("STORE_FAST", 1)]
    items += [Op("LOAD_FAST", 1), Op("LOAD_CONST", 1), Op("BINARY_SUBSCR"), Op("RETURN_VALUE")]
    return code_of(items, ("a",), ("graph",), (None, 0))


def live_constants() -> types.CodeType:
    items: list[Item] = [Op("RESUME"), Op("PUSH_NULL"), Op("LOAD_CONST", 1), Op("LOAD_FAST", 0), Op("LOAD_CONST", 2)]
    items += [Op("BUILD_TUPLE", 2), Op("CALL_FUNCTION_EX", 0), Op("RETURN_VALUE")]
    return code_of(items, ("a",), (), (None, max, sys))


def null_below_by_swap() -> types.CodeType:
    items: list[Item] = [Op("RESUME"), Op("LOAD_FAST", 0), Op("PUSH_NULL"), Op("SWAP", 2), Op("LOAD_FAST", 1)]
    items += [Op("PRECALL", 1), Op("CALL", 1), Op("RETURN_VALUE")]
    return code_of(items, ("function", "x"))


def cell_as_value() -> types.CodeType:
    items: list[Item] = [Op("COPY_FREE_VARS", 1), Op("RESUME"), Op("PUSH_NULL"), Op("LOAD_FAST", 0)]
    items += [Op("LOAD_CLOSURE", 1), Op("PRECALL", 1), Op("CALL", 1), Op("RETURN_VALUE")]
    return code_of(items, ("a",), free=("x",))


def list_grown_in_loop() -> types.CodeType:
    head, end = Label(), Label()
    items: list[Item] = [Op("RESUME"), Op("BUILD_LIST", 0), Op("LOAD_FAST", 0), head, Op("FOR_ITER", end)]
    items += [Op("STORE_FAST", 1), Op("LOAD_FAST", 1), Op("LIST_APPEND", 2), Op("JUMP", head), end, Op("RETURN_VALUE")]
    return code_of(items, ("___stack0",), ("i",))


MAKERS = (resume_in_loop, fresh_list, live_constants, null_below_by_swap, cell_as_value, list_grown_in_loop)


@pytest.mark.parametrize("idioms", [True, False], ids=["pretty", "plain"])
@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_proven(make: types.FunctionType, idioms: bool) -> None:
    result = decompile_unit(CodeUnit.from_code(make()), Options(idioms=idioms))
    assert [verdict.reason for verdict in result.verdicts if not verdict.proven] == []


def test_attributes_without_an_identifier_in_what_dynamo_wrote() -> None:
    """torch before 2.2 loads the submodule ``0`` of a list of modules as an attribute."""
    names = ("__compiled_fn_0", "layers", "0", "weight", "1")
    items: list[Item] = [Op("RESUME"), Op("LOAD_FAST", 0), Op("LOAD_ATTR", 1), Op("LOAD_ATTR", 2), Op("LOAD_ATTR", 3)]
    items += [Op("STORE_FAST", 2), Op("PUSH_NULL"), Op("LOAD_GLOBAL", 0), Op("LOAD_FAST", 1), Op("LOAD_FAST", 2)]
    items += [Op("PRECALL", 2), Op("CALL", 2), Op("STORE_FAST", 3), Op("LOAD_FAST", 3), Op("LOAD_CONST", 1)]
    items += [Op("BINARY_SUBSCR"), Op("LOAD_FAST", 0), Op("STORE_ATTR", 4), Op("LOAD_FAST", 0), Op("DELETE_ATTR", 2)]
    items += [Op("LOAD_FAST", 3), Op("LOAD_CONST", 1), Op("BINARY_SUBSCR"), Op("RETURN_VALUE")]
    code = code_of(items, ("self", "x"), ("tmp_1", "graph_out_0"), (None, 0), names)
    assert decompile(code) == (
        "def f(self, x):\n"
        '    weight = getattr(self.layers, "0").weight\n'
        "    graph_out_0 = __compiled_fn_0(x, weight)\n"
        '    setattr(self, "1", graph_out_0[0])\n'
        '    delattr(self, "0")\n'
        "    return graph_out_0[0]\n"
    )


def test_many_copies_are_no_pattern() -> None:
    """Each copy might begin alternatives of a ``case``; asked anew for each of those before it, that took for ever."""
    items: list[Item] = [Op("RESUME"), Op("LOAD_FAST", 0), *[Op("COPY", 1)] * 300, Op("BUILD_TUPLE", 301)]
    code = code_of([*items, Op("RETURN_VALUE")], ("a",)).replace(co_stacksize=400)
    result = decompile_unit(CodeUnit.from_code(code))
    assert result.proven and "__temp" not in result.source
