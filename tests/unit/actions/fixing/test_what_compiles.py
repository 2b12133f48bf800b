"""What compiles a function in a file: torch.compile, and the short names that the file gives it."""

from __future__ import annotations

import libcst as cst
import pytest

from depyf.actions.fixing.edit_case import Tree, dotted
from depyf.actions.fixing.what_compiles import compiled_by, compiles_below

HELPER = "def c(f, **options):\n    '''Compiles.'''\n    return torch.compile(f, **options)\n"


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("torch.compile(g, mode='x')", "g"),
        ("torch.compile(model=g)", "g"),
        ("torch.compile(mode='x')(g)", "g"),
        ("torch.compile(mode='x')", ""),
        ("from torch import compile\ncompile(g)", "g"),
        ("from torch import compile as c\nc(g)", "g"),
        ("compile(g)", ""),
        (HELPER + "c(g, mode='x')", "g"),
        (HELPER + "c = other\nc(g)", ""),
        (HELPER.replace("return", "print(f)\n    return") + "c(g)", ""),
        (HELPER.replace("(f, **options):", "(options, f):") + "c(g)", ""),
        ("import functools\nc = functools.partial(torch.compile, mode='x')\nc(g)", "g"),
        ("import functools\nc = functools.partial(torch.compile, h)\nc(g)", ""),
    ],
)
def test_the_function_that_a_call_compiles(program, found):
    tree = Tree(f"import torch\n{program}\n")
    call = tree.statement(tree.nodes(cst.Call)[-1]).body[0].value
    made = compiled_by(tree, call)
    assert (dotted(made) if made is not None else "") == found


@pytest.mark.parametrize(
    ("decorator", "compiles"),
    [
        ("torch.compile", True),
        ("torch.compile(mode='x')", True),
        ("c", True),
        ("torch.no_grad()", False),
        ("c(h)", False),
    ],
)
def test_a_decorator_that_compiles(decorator, compiles):
    tree = Tree(f"import torch\n{HELPER}\n@{decorator}\ndef g(x):\n    return x\n")
    assert compiles_below(tree, tree.nodes(cst.Decorator)[0]) is compiles
