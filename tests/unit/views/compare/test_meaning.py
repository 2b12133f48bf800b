"""``depyf diff``: what is left of a dumped text where comments, names of positions and layout do not count."""

from __future__ import annotations

import json

import pytest

from depyf.views.compare.meaning import meaning
from depyf.views.compare.stages import compare, load


@pytest.mark.parametrize(
    ("name", "one", "two"),
    [
        ("a.py", "# f, /a/b.py:3\ny = g(x)  # b.py:4\n", "# f, /c/b.py:9\n\ny = g(\n    x\n)\n"),
        ("a.py", "return_ = __resume_at_110_13(x)\n", "return_ = __resume_at_84_13(x)\n"),
        ("a.py", "def f(x):\n    t = x\n    del t\n    return 1\n", "def f(x):\n    t = x\n    return 1\n"),
        ("a.py", '"""Compilations: 0/0, in /a/b.py:3"""\nx = 1\n', '"""Compilations: 0/0, in /b.py:4"""\nx = 1\n'),
        ("a.txt", "at /p/lib/python3.11/site-packages/torch/nn.py", "at /q/dist-packages/torch/nn.py"),
        ("a.py", "def (  # no Python\n", "def (  # no Python\n"),
    ],
)
def test_alike(name, one, two):
    assert meaning(name, one) == meaning(name, two)


@pytest.mark.parametrize(
    ("name", "one", "two"),
    [
        ("a.py", "y = g(x)\n", "y = g(z)\n"),
        ("a.py", "return_ = __resume_at_110_13(x)\n", "return_ = __resume_at_110_14(x)\n"),
        ("a.py", "del t[0]\nx = 1\n", "x = 1\n"),
        ("a.py", "y: 'f32[3]' = g(x)\n", "y: 'f32[4]' = g(x)\n"),
        ("a.py", "s = '# one'\n", "s = '# two'\n"),
        ("a.json", '{"a": 1}', '{"a": 2}'),
        ("k.cpp", "int a; // one", "int a; // two"),
    ],
)
def test_differ(name, one, two):
    assert meaning(name, one) != meaning(name, two)


def test_strict(tmp_path):
    for side, line in (("one", "# here"), ("two", "# there")):
        folder = tmp_path / side
        folder.mkdir()
        (folder / "g.py").write_text(f"{line}\nx = 1\n")
        files = [{"file": "g.py", "kind": "graph", "stage": "Captured_Graph", "compile_id": "0/0"}]
        (folder / "manifest.json").write_text(json.dumps({"files": files, "torch": "2.13", "python": "3.11"}))
    first, second = load(tmp_path / "one"), load(tmp_path / "two")
    found = compare(first, second)
    assert found.equal and [file.name for file in found.alike] == ["g.py"]
    assert found.counts("Captured_Graph") == (0, 1, 0, 0, 0)
    strict = compare(first, second, strict=True)
    assert not strict.equal and strict.counts("Captured_Graph") == (0, 0, 1, 0, 0)
