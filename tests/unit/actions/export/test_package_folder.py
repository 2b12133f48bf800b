"""Packages from dumps made by hand: nothing that is read is run, nothing outside of the folder is written, all is Python."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from depyf.export import ExportError, export_package
from dumps_by_hand import made_hostile
from made_dumps import made_dump

PAGE = """
from depyf.sources.live.page_access import live_frame, live_guard

frame_0 = live_frame(__file__, '0')


def f(x, n):
    L, G = frame_0.enter({'x': x, 'n': n})
    if guards_0_0(L, G):
        return __transformed_code_0_0_for_f(x, n)
    return __original_f(x, n)


@frame_0.original
def __original_f(x, n=2):
    return x * n
"""
CODE = """# f (/a/b.py:3), compile id 0/0:

def __transformed_code_0_0_for_f(x, n):
    entered = __import_torch_dot__dynamo_dot_utils.record_pregraph_bytecode_enter()  # b.py:3, torch's bookkeeping
    __import_torch_dot__dynamo_dot_utils.record_pregraph_bytecode_exit(entered)  # torch's bookkeeping
    call_size = __import_torch_dot__dynamo_dot_utils.call_size  # a name of the program
    hooks = "a # b"
    return __compiled_fn_0_0(x)[0], __builtins_dict___3["len"](hooks), SCALE, table
"""
GRAPH = """# Compile id 0/0: the graph Dynamo captured.

import torch


class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[3][1]cpu"):
        l_x_ = L_x_

        # File: /a/b.py:3 in f, code: return x * n
        mul: "f32[3][1]cpu" = l_x_ * 2;  l_x_ = None
        return (mul,)
"""
GUARDS = [
    {"kind": "TENSOR_MATCH", "expression": "check_tensor(L['x'], 'Tensor', torch.float32, size=[3], stride=[1], requires_grad=False, device_index=None, keys='CPU')", "source": "L['x']"},
    {"kind": "EQUALS_MATCH", "expression": "same_value(L['n'], 2)", "source": "L['n']", "at": "/a/b.py:3", "line": "return x * n"},
    {"kind": "EQUALS_MATCH", "expression": "same_value(G['SCALE'], 3)", "source": "G['SCALE']"},
]  # fmt: skip


def dump(folder: Path, **changed: Any) -> Path:
    """A dump of ``f``, but for the files in ``changed``."""
    files = [
        {"file": "full_code_for_f_0.py", "kind": "full_code", "function": "f", "from": ["/a/b.py:3"], "compile_ids": ["0/0"]},
        {"file": "__transformed_code_0_0_for_f.py", "kind": "transformed_code", "compile_id": "0/0", "generation": 0, "function": "f", "from": ["/a/b.py:3"]},
        {"file": "__compiled_fn_0_0.Captured_Graph.0.py", "kind": "graph", "stage": "Captured_Graph", "index": 0, "compile_id": "0/0", "generation": 0, "from": ["/a/b.py:3"]},
        {"file": "__compiled_fn_0_0.Captured_Graph.0.json", "kind": "graph_inputs", "compile_id": "0/0", "generation": 0},
        {"file": "guards.json", "kind": "guards"},
        {"file": "__original_code_0_for_f.txt", "kind": "original_code"},
    ]  # fmt: skip
    functions = [{"function": "f", "from": "/a/b.py:3", "entries": [{"compile_id": "0/0", "compiled": True}]}]
    guards = changed.pop("guards", GUARDS)
    facts = {"inputs": [{"name": "L_x_", "kind": "tensor", "source": "L['x']", "tensor": {"dtype": "torch.float32", "size": ["3"], "stride": ["1"], "shape": [3], "strides": [1]}}]}  # fmt: skip
    texts: dict[str, Any] = {
        "full_code_for_f_0.py": PAGE,
        "__transformed_code_0_0_for_f.py": CODE,
        "__original_code_0_for_f.txt": "The function f\n\ndef f(x, n=2):\n    return x * n\n\nBytecode:\n\n",
        "__compiled_fn_0_0.Captured_Graph.0.py": GRAPH,
        "__compiled_fn_0_0.Captured_Graph.0.json": json.dumps(facts),
        "guards.json": json.dumps({"entries": [{"compile_id": "0/0", "generation": 0, "guards": list(range(len(guards)))}], "guards": guards}),
    }  # fmt: skip
    return made_dump(folder, {"files": files, "functions": functions}, **{**texts, **changed})


def texts_of(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_what_dynamo_installed_has_names(tmp_path):
    """Bookkeeping goes; a variable keeps its name where it is that of a helper or of a module of the package."""
    package = export_package(dump(tmp_path / "dump"), tmp_path / "net")
    functions = (tmp_path / "net" / "functions.py").read_text()
    assert functions.endswith(
        "def f_0_0(x, n):\n"
        "    call_size = runtime.call_size\n"
        '    hooks = "a # b"\n'
        "    return graph_0_0(x)[0], len(hooks), package_hooks.SCALE, package_hooks.table\n"
    )
    assert "def f(x, n=2):\n" in functions
    assert package.wanted == ("table",)
    assert "SCALE = 3  # the global SCALE of the program\n" in (tmp_path / "net" / "hooks.py").read_text()
    guards = (tmp_path / "net" / "guards.py").read_text()
    assert "SCALE" not in guards and "keys" not in guards
    assert '# /a/b.py:3: return x * n\n        and same_value(L["n"], 2)' in guards
    assert "`same_value(G['SCALE'], 3)`" in (tmp_path / "net" / "README.md").read_text()


def test_the_graph_is_a_function(tmp_path):
    export_package(dump(tmp_path / "dump"), tmp_path / "net")
    assert (
        (tmp_path / "net" / "graphs" / "graph_0_0.py")
        .read_text()
        .endswith(
            'def graph_0_0(x: "f32[3][1]cpu"):\n'
            "    # File: /a/b.py:3 in f, code: return x * n\n"
            '    mul: "f32[3][1]cpu" = x * 2\n'
            "    return (mul,)\n"
        )
    )


def test_nothing_is_run(tmp_path):
    """Code in every file that is read, and in every field: it is text."""
    trap = tmp_path / "trap"
    planted = f"open({str(trap)!r}, 'w').close()\n"
    bad = dump(
        tmp_path / "dump",
        **{
            "full_code_for_f_0.py": planted + PAGE,
            "__transformed_code_0_0_for_f.py": planted + CODE,
            "__compiled_fn_0_0.Captured_Graph.0.py": planted + GRAPH,
        },
        guards=[*GUARDS, {"kind": "X", "expression": f"same_value(L['n'], open({str(trap)!r}, 'w'))"}],
    )
    program = f"import sys; from depyf.export import export_package; export_package({str(bad)!r}, {str(tmp_path / 'net')!r}); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
    assert not trap.exists()


@pytest.mark.parametrize("name", ["full_code_for_f_0.py", "__transformed_code_0_0_for_f.py", "guards.json"])
def test_damage_is_an_error(name, tmp_path):
    bad = dump(tmp_path / "dump")
    (bad / name).write_text("def f(:\n")
    with pytest.raises(ExportError):
        export_package(bad, tmp_path / "net")
    assert not (tmp_path / "net").exists()


@pytest.mark.parametrize("expression", ["1; import os", "L['x'", "x := 1\n", ""])
def test_a_guard_is_one_expression(expression, tmp_path):
    with pytest.raises(ExportError):
        export_package(dump(tmp_path / "dump", guards=[{"kind": "X", "expression": expression}]), tmp_path / "net")


def test_hostile_texts_stay_text(tmp_path):
    """Line ends, quotes and markup in each text of the manifest: an error, or files that are Python."""
    bad = made_hostile(dump(tmp_path / "dump"), tmp_path / "hostile")
    try:
        export_package(bad, tmp_path / "net")
    except ExportError:
        return
    for name, text in texts_of(tmp_path / "net").items():
        if name.endswith(".py"):
            ast.parse(text)


@pytest.mark.parametrize("field", ["function", "from", "compile_id"])
def test_a_field_ends_no_docstring(field, tmp_path):
    bad = dump(tmp_path / "dump")
    manifest = json.loads((bad / "manifest.json").read_text())
    evil = '"""\nimport os\n\\'
    for item in manifest["files"]:
        if field in item:
            item[field] = [evil] if field == "from" else evil
    (bad / "manifest.json").write_text(json.dumps(manifest))
    try:
        export_package(bad, tmp_path / "net")
    except ExportError:
        return
    for name, text in texts_of(tmp_path / "net").items():
        if name.endswith(".py"):
            tree = ast.parse(text)
            assert not any(isinstance(n, ast.Import) and n.names[0].name == "os" for n in ast.walk(tree)), name


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="no links")
@pytest.mark.parametrize("inner", ["", "graphs"])
def test_no_link_is_followed(inner, tmp_path):
    source = dump(tmp_path / "dump")
    (tmp_path / "elsewhere").mkdir()
    if inner:
        export_package(source, tmp_path / "net")
        for path in (tmp_path / "net" / inner).iterdir():
            path.unlink()
        (tmp_path / "net" / inner).rmdir()
    os.symlink(tmp_path / "elsewhere", tmp_path / "net" / inner)
    with pytest.raises(ExportError, match="symbolic link"):
        export_package(source, tmp_path / "net")
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_link_in_the_dump_is_not_read(tmp_path):
    source = dump(tmp_path / "dump")
    (source / "guards.json").rename(tmp_path / "guards.json")
    os.symlink(tmp_path / "guards.json", source / "guards.json")
    with pytest.raises(ExportError, match="symbolic link"):
        export_package(source, tmp_path / "net")


@pytest.mark.parametrize("name", ["../outside.py", "/etc/passwd", "a/b.py", "..", ""])
def test_a_file_is_named_by_its_plain_name(name, tmp_path):
    source = dump(tmp_path / "dump")
    manifest = json.loads((source / "manifest.json").read_text())
    manifest["files"][2]["file"] = name
    (source / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ExportError):
        export_package(source, tmp_path / "net")


@pytest.mark.parametrize("name", ["a-b", "class", "1net", "a b"])
def test_the_package_has_a_name_that_can_be_imported(name, tmp_path):
    with pytest.raises(ExportError, match="no name of a package"):
        export_package(dump(tmp_path / "dump"), tmp_path / name)


def test_strangers_are_left_alone(tmp_path):
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "mine.py").write_text("1")
    with pytest.raises(ExportError, match="did not write"):
        export_package(dump(tmp_path / "dump"), tmp_path / "net")
    assert texts_of(tmp_path / "net") == {"mine.py": "1"}


def test_every_supported_python_can_read_it(tmp_path):
    """The grammar of CPython 3.10 has all that the files need."""
    export_package(dump(tmp_path / "dump"), tmp_path / "net")
    for name, text in texts_of(tmp_path / "net").items():
        if name.endswith(".py"):
            ast.parse(text, feature_version=(3, 10))
