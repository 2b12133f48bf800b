"""What a proof may take from the promises of the program that wrote the code, and what it may not."""

from __future__ import annotations

import textwrap
import types

import pytest

from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.generated.contract import GeneratorContract
from depyf.decompiler.verify import Verdict, verify

PROMISES = {
    "stable": ("__compiled_fn_", "__resume_at_", "__import_", "__builtins_dict_"),
    "fixed": ("__import_torch_dot__dynamo_", "__import_builtins"),
    "tables": ("__builtins_dict_",),
    "graphs": ("__compiled_fn_",),
    "closure_factories": ("__resume_at_",),
    "profiler_enter": ("enter",),
    "profiler_exit": ("leave",),
    "pure_calls": ("call_size",),
    "readers": ("type",),
    "reads_first": True,
    "resumed": ("f",),
    "tracing_flags": ("mark",),
    "boxed_parameters": ("y",),
}

SAME = {
    "items of a graph are read when they are needed": (
        "graph_out_0 = __compiled_fn_0(x)\ntmp_1 = graph_out_0[0]\ntmp_2 = graph_out_0[1]\ndel graph_out_0\nreturn tmp_1, tmp_2",
        "graph_out_0 = __compiled_fn_0(x)\nreturn graph_out_0[0], graph_out_0[1]",
    ),
    "the list of them is no variable": (
        "graph_out_0 = __compiled_fn_0(x)\ntmp_1 = graph_out_0[0]\ndel graph_out_0\nreturn x(tmp_1)",
        "return x(__compiled_fn_0(x)[0])",
    ),
    "reads at the start in another order": (
        "tmp_1 = x.a\ntmp_2 = y[0]\ntmp_3 = tmp_1.b\ndel tmp_1\nreturn __compiled_fn_0(tmp_2, tmp_3)",
        "return __compiled_fn_0(y[0], x.a.b)",
    ),
    "reads around the profiler's marks": (
        "tmp_1 = __import_torch_dot__dynamo_utils.enter\ntmp_2 = tmp_1()\ntmp_3 = x.a\n"
        "tmp_4 = __import_torch_dot__dynamo_utils.leave\ntmp_4(tmp_2)\nreturn __compiled_fn_0(tmp_3)",
        "tmp_2 = __import_torch_dot__dynamo_utils.enter()\n__import_torch_dot__dynamo_utils.leave(tmp_2)\n"
        "return __compiled_fn_0(x.a)",
    ),
    "other work before the graph around the profiler's marks": (
        "tmp_2 = __import_torch_dot__dynamo_utils.enter()\ntmp_3 = x(y)\n__import_torch_dot__dynamo_utils.leave(tmp_2)\n"
        "return __compiled_fn_0(tmp_3)",
        "tmp_2 = __import_torch_dot__dynamo_utils.enter()\n__import_torch_dot__dynamo_utils.leave(tmp_2)\n"
        "return __compiled_fn_0(x(y))",
    ),
    "builtins are looked up when they are called": (
        "tmp_1 = __builtins_dict_0['print']\nx(y)\ntmp_1(y)",
        "x(y)\n__builtins_dict_0['print'](y)",
    ),
    "a resume function is made when it is called": (
        "tmp_0 = x(y)\ntmp_1 = __resume_at_1((CELL,))\nreturn tmp_1([], [], tmp_0)",
        "return __resume_at_1((CELL,))([], [], x(y))",
    ),
    "a size is measured in place": (
        "tmp_1 = __import_torch_dot__dynamo_utils.call_size\ntmp_2 = tmp_1(x, 0)\ntmp_3 = tmp_1(y, 1)\n"
        "return __compiled_fn_0(tmp_3, tmp_2)",
        "tmp_1 = __import_torch_dot__dynamo_utils.call_size\nreturn __compiled_fn_0(tmp_1(y, 1), tmp_1(x, 0))",
    ),
    "the type of a value among the reads": (
        "tmp_1 = __import_builtins.type(x).b\ntmp_2 = y.a\nreturn __compiled_fn_0(tmp_2, tmp_1)",
        "return __compiled_fn_0(y.a, __import_builtins.type(x).b)",
    ),
    "on both arms": (
        "graph_out_0 = __compiled_fn_0(x)\ntmp_1 = graph_out_0[0]\ntmp_2 = graph_out_0[1]\ndel graph_out_0\n"
        "if tmp_1:\n    del tmp_1\n    return y(tmp_2)\nreturn tmp_2",
        "graph_out_0 = __compiled_fn_0(x)\nvalue = graph_out_0[1]\ntmp_1 = graph_out_0[0]\ndel graph_out_0\n"
        "if tmp_1:\n    del tmp_1\n    return y(value)\nreturn value",
    ),
    "behind a with that suppressed, torch raises None": (
        "while True:\n    with x:\n        y()\n        break\n    raise None\nreturn y(1)",
        "with x:\n    y()\nreturn y(1)",
    ),
    "and behind the one around it": (
        "while True:\n    with x:\n        while True:\n            with x(1):\n                y()\n                break\n"
        "            x.__exit__\n            raise None\n        y(2)\n        break\n    raise None\nreturn y(1)",
        "with x:\n    while True:\n        with x(1):\n            y()\n            break\n"
        "        x.__exit__\n        raise None\n    y(2)\nreturn y(1)",
    ),
    "a mark that nothing reads": ("mark = True\nx()\nmark = False\nreturn y()", "x()\nreturn y()"),
    "a variable of its own in place of one that was added": (
        "tmp_1 = x(y)\nx()\nreturn tmp_1",
        "result = x(y)\nx()\nreturn result",
    ),
}  # fmt: skip

DIFFERENT = {
    "a class that is made": (
        "tmp_1 = __import_builtins.type('C', x, y)\ntmp_2 = y.a\nreturn __compiled_fn_0(tmp_1, tmp_2)",
        "tmp_2 = y.a\nreturn __compiled_fn_0(__import_builtins.type('C', x, y), tmp_2)",
    ),
    "a type behind a call": (
        "tmp_1 = __import_builtins.type(x)\ny()\nreturn tmp_1", "y()\nreturn __import_builtins.type(x)",
    ),
    "another item": ("return __compiled_fn_0(x)[0]", "return __compiled_fn_0(x)[1]"),
    "a read that is no longer at the start": ("x()\ntmp_1 = y.a\ny()\nreturn tmp_1", "x()\ny()\nreturn y.a"),
    "a read moved behind the first call": ("tmp_1 = y.a\nx()\nreturn tmp_1", "x()\nreturn y.a"),
    "two reads behind a call": ("x()\ntmp_1 = y.a\ntmp_2 = y.b\nreturn tmp_2, tmp_1", "x()\nreturn y.b, y.a"),
    "the list of a graph lives longer": (
        "graph_out_0 = __compiled_fn_0(x)\ntmp_1 = graph_out_0[0]\ndel graph_out_0\ny()\nreturn tmp_1",
        "graph_out_0 = __compiled_fn_0(x)\ny()\nreturn graph_out_0[0]",
    ),
    "the list of a graph dies earlier": (
        "graph_out_0 = __compiled_fn_0(x)\ny()\nreturn graph_out_0[0]",
        "tmp_1 = __compiled_fn_0(x)[0]\ny()\nreturn tmp_1",
    ),
    "an item of an earlier graph": (
        "tmp_1 = None\nfor tmp_2 in x:\n    graph_out_0 = __compiled_fn_0(tmp_2)\n    if tmp_2:\n        tmp_1 = graph_out_0[0]\nreturn tmp_1",
        "tmp_1 = None\nfor tmp_2 in x:\n    graph_out_0 = __compiled_fn_0(tmp_2)\n    if tmp_2:\n        tmp_1 = graph_out_0[0]\n    else:\n        tmp_1 = graph_out_0[0]\nreturn tmp_1",
    ),
    "an item of whichever graph was last": (
        "graph_out_0 = __compiled_fn_0(x)\ntmp_1 = graph_out_0[0]\nfor tmp_2 in x:\n    graph_out_0 = __compiled_fn_0(tmp_2)\nreturn tmp_1",
        "graph_out_0 = __compiled_fn_0(x)\ntmp_1 = graph_out_0[0]\nfor tmp_2 in x:\n    graph_out_0 = __compiled_fn_0(tmp_2)\nreturn graph_out_0[0]",
    ),
    "a mark that is left out": (
        "tmp_2 = __import_torch_dot__dynamo_utils.enter()\n__import_torch_dot__dynamo_utils.leave(tmp_2)\nreturn __compiled_fn_0(x)",
        "tmp_2 = __import_torch_dot__dynamo_utils.enter()\nreturn __compiled_fn_0(x)",
    ),
    "a mark that is made twice": (
        "tmp_2 = __import_torch_dot__dynamo_utils.enter()\n__import_torch_dot__dynamo_utils.leave(tmp_2)\nreturn __compiled_fn_0(x)",
        "tmp_2 = __import_torch_dot__dynamo_utils.enter()\n__import_torch_dot__dynamo_utils.leave(tmp_2)\n"
        "__import_torch_dot__dynamo_utils.leave(tmp_2)\nreturn __compiled_fn_0(x)",
    ),
    "a mark behind the graph": (
        "tmp_2 = __import_torch_dot__dynamo_utils.enter()\n__import_torch_dot__dynamo_utils.leave(tmp_2)\nreturn __compiled_fn_0(x)",
        "tmp_2 = __import_torch_dot__dynamo_utils.enter()\ntmp_3 = __compiled_fn_0(x)\n"
        "__import_torch_dot__dynamo_utils.leave(tmp_2)\nreturn tmp_3",
    ),
    "a mark on the other side of a handler": (
        "tmp_2 = __import_torch_dot__dynamo_utils.enter()\n__import_torch_dot__dynamo_utils.leave(tmp_2)\n"
        "try:\n    x()\nexcept KeyError:\n    return 1\nreturn __compiled_fn_0(x)",
        "tmp_2 = __import_torch_dot__dynamo_utils.enter()\ntry:\n    x()\nexcept KeyError:\n    return 1\n"
        "__import_torch_dot__dynamo_utils.leave(tmp_2)\nreturn __compiled_fn_0(x)",
    ),
    "a mark behind a later graph": (
        "tmp_2 = __import_torch_dot__dynamo_utils.enter()\ntmp_3 = __compiled_fn_0(x)\n"
        "__import_torch_dot__dynamo_utils.leave(tmp_2)\ntmp_4 = y()\nreturn tmp_3, tmp_4",
        "tmp_2 = __import_torch_dot__dynamo_utils.enter()\ntmp_3 = __compiled_fn_0(x)\ntmp_4 = y()\n"
        "__import_torch_dot__dynamo_utils.leave(tmp_2)\nreturn tmp_3, tmp_4",
    ),
    "a mark on one path only": (
        "tmp_2 = __import_torch_dot__dynamo_utils.enter()\n__import_torch_dot__dynamo_utils.leave(tmp_2)\n"
        "if x:\n    y()\nreturn __compiled_fn_0(x)",
        "tmp_2 = __import_torch_dot__dynamo_utils.enter()\nif x:\n    __import_torch_dot__dynamo_utils.leave(tmp_2)\n"
        "    y()\nreturn __compiled_fn_0(x)",
    ),
    "another mark": (
        "tmp_2 = __import_torch_dot__dynamo_utils.enter()\n__import_torch_dot__dynamo_utils.leave(tmp_2)\nreturn __compiled_fn_0(x)",
        "tmp_2 = __import_torch_dot__dynamo_utils.enter()\n__import_torch_dot__dynamo_utils.leave(x)\nreturn __compiled_fn_0(x)",
    ),
    "raise None that a with falls to, too": ("with x:\n    y()\nraise None", "with x:\n    y()"),
    "raise None behind a with and a test": (
        "while True:\n    with x:\n        if y():\n            break\n    raise None\nreturn y(1)",
        "with x:\n    y()\nreturn y(1)",
    ),
    "another raise behind a with": (
        "while True:\n    with x:\n        y()\n        break\n    raise y\nreturn y(1)",
        "with x:\n    y()\nreturn y(1)",
    ),
    "work before raise None": (
        "while True:\n    with x:\n        y()\n        break\n    y(2)\n    raise None\nreturn y(1)",
        "with x:\n    y()\nreturn y(1)",
    ),
    "a mark that is read": ("mark = True\nx()\nreturn mark", "x()\nreturn True"),
    "another variable that nothing reads": ("mark = x(1)\nreturn y()", "return y()"),
    "an item read and deleted in two steps": ("z = y[-1]\nx()\ndel y[-1]\nreturn z", "z = y.pop()\nx()\nreturn z"),
    "a list that was not promised": ("z = x[-1]\ndel x[-1]\nreturn z", "return x.pop()"),
    "a variable of the user": ("z = x(y)\nx()\nreturn z", "result = x(y)\nx()\nreturn result"),
    "a read that an exception handler covers": (
        "try:\n    tmp_1 = x.a\n    tmp_2 = y.b\nexcept KeyError:\n    return 1\nreturn __compiled_fn_0(tmp_1, tmp_2)",
        "try:\n    tmp_2 = y.b\n    tmp_1 = x.a\nexcept KeyError:\n    return 1\nreturn __compiled_fn_0(tmp_1, tmp_2)",
    ),
    "an attribute of another module": (
        "tmp_1 = __import_other.a\nx()\nreturn tmp_1", "x()\nreturn __import_other.a",
    ),
    "an item of another dict": ("tmp_1 = table['print']\nx()\nreturn tmp_1", "x()\nreturn table['print']"),
    "what is made from no cells": (
        "tmp_1 = __resume_at_1((y,))\ntmp_0 = x(y)\nreturn tmp_1([], [], tmp_0)",
        "tmp_0 = x(y)\nreturn __resume_at_1((y,))([], [], tmp_0)",
    ),
    "two functions in place of one": (
        "tmp_1 = __resume_at_1((CELL,))\nreturn x(tmp_1, tmp_1)",
        "return x(__resume_at_1((CELL,)), __resume_at_1((CELL,)))",
    ),
    "variables that are looked up by name": (
        "tmp_1 = y\nx(locals())\nreturn tmp_1", "x(locals())\nreturn y",
    ),
    "the sizes exchanged": (
        "tmp_1 = __import_torch_dot__dynamo_utils.call_size\nreturn __compiled_fn_0(tmp_1(x, 0), tmp_1(y, 0))",
        "tmp_1 = __import_torch_dot__dynamo_utils.call_size\nreturn __compiled_fn_0(tmp_1(y, 0), tmp_1(x, 0))",
    ),
}  # fmt: skip


def compiled(body: str) -> types.CodeType:
    """The code of a function with that body; ``CELL`` is the cell of a variable of its own."""
    from depyf.decompiler.bytecode.host.patch import bind

    head = "def f(x, y):\n" + ("    if 0: z = (lambda: kept)\n    kept = x\n" if "CELL" in body else "")
    module = compile(head + textwrap.indent(body.replace("CELL", "__cell_kept"), "    "), "<test>", "exec")
    code = next(const for const in module.co_consts if isinstance(const, types.CodeType))
    return bind(code, consts={}, cells={"__cell_kept": "kept"}, renames={})


def prove(original: str, recompiled: str) -> Verdict:
    code = compiled(original)
    added = frozenset(name for name in code.co_varnames if name.startswith(("tmp_", "graph_out_")))
    promises = GeneratorContract(variables=added, **PROMISES)  # type: ignore[arg-type]
    return verify(CodeUnit.from_code(code), CodeUnit.from_code(compiled(recompiled)), promises=promises)[0]


@pytest.mark.parametrize("name", SAME)
def test_same_by_promise(name: str) -> None:
    verdict = prove(*SAME[name])
    assert verdict.proven, verdict.reason
    assert "assuming" in verdict.reason


@pytest.mark.parametrize("name", SAME)
def test_not_the_same_without_promises(name: str) -> None:
    original, recompiled = map(compiled, SAME[name])
    assert not verify(CodeUnit.from_code(original), CodeUnit.from_code(recompiled))[0].proven


def test_only_in_code_of_that_name() -> None:
    original, recompiled = SAME["behind a with that suppressed, torch raises None"]
    promises = GeneratorContract(resumed=("torch_dynamo_resume_in_",))
    codes = (CodeUnit.from_code(compiled(text)) for text in (original, recompiled))
    assert not verify(*codes, promises=promises)[0].proven


@pytest.mark.parametrize("name", DIFFERENT)
def test_different_in_spite_of_promises(name: str) -> None:
    original, recompiled = DIFFERENT[name]
    assert not prove(original, recompiled).proven
    assert prove(original, original).proven
