"""Frames of comprehensions and lambdas: their parameter ``.0`` and their source are no function definition."""

from __future__ import annotations

import types

import pytest
import torch
from dumps import check_dump, check_substituted, files_of
from torch_programs import same

import depyf

pytestmark = pytest.mark.torch


def broken(x):
    torch._dynamo.graph_break()
    return x * 2


def comprehensions(x, names):
    listed = [broken(x + i) for i in names]
    keyed = {i: broken(x * i) for i in names}
    chosen = (lambda t, *, by=3: broken(t) + by)(x)
    nested = {i: [broken(x + i + j) for j in names] for i in names}
    return listed, list(keyed.values()), chosen, list(nested.values())


def test_breaks_inside(tmp_path):
    def run():
        return torch.compile(comprehensions, backend="eager")(torch.ones(2), [1, 2])

    want = run()
    torch._dynamo.reset()
    with depyf.prepare_debug(tmp_path):
        got = run()
    assert same(want, got)
    manifest = check_dump(tmp_path)
    check_substituted(manifest)
    pages = {name: (tmp_path / name).read_text() for name in files_of(manifest, kind="full_code")}
    (page,) = [text for name, text in pages.items() if name.startswith("full_code_for_lambda")]
    assert "# The original:\n# lambda t, *, by=3: broken(t) + by\n" in page
    shown = [text for name, text in pages.items() if "comp_" in name]
    for text in shown:  # since 3.12 a comprehension has no frame of its own
        assert "enter({'.0': _0})" in text
        assert text.count("# The original:\n# [broken(") + text.count("# The original:\n# {i: ") == 1
    assert shown or not any(type(const) is types.CodeType and "comp>" in const.co_name for const in comprehensions.__code__.co_consts)  # fmt: skip


def test_a_compiled_comprehension(tmp_path):
    """Compiled as a function of its own, it can be asked and replayed like any other."""

    def outer(names, x):
        return [x + i for i in names]

    inner = [const for const in outer.__code__.co_consts if isinstance(const, types.CodeType)]
    if not inner:
        pytest.skip("since 3.12 a comprehension has no code of its own")
    x = torch.ones(2)
    function = types.FunctionType(inner[0], globals(), "listed", None, (types.CellType(x),))
    with depyf.prepare_debug(tmp_path):
        compiled = torch.compile(function, backend="eager")
        want = compiled(iter(range(2)))
    manifest = check_dump(tmp_path)
    check_substituted(manifest)
    assert files_of(manifest, kind="transformed_code") == ["__transformed_code_0_0_for_listcomp.py"]
    (name,) = files_of(manifest, kind="full_code")
    assert "def listcomp(_0):" in (tmp_path / name).read_text()
    replayed = depyf.replay(compiled, tmp_path)
    assert same(replayed(iter(range(2))), want) and not replayed.disagreements
    assert depyf.why(compiled, iter(range(2))).runs == "0/0"
