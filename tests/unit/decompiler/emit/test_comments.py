"""What comes from a program never ends a comment, in any text that we write."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from depyf.decompiler.driver.pipeline import Decompiled
from depyf.decompiler.emit.comments import comment, comments, in_docstring, remark, source_lines
from depyf.decompiler.verify import Status, Verdict
from depyf.run.advice.registry import use
from depyf.run.causes.collect import causes_of
from depyf.run.places.place import Place
from depyf.run.records import (
    BreakRecord,
    CodeRecord,
    CompileKey,
    EntryRecord,
    FunctionRecord,
    GuardRecord,
    RecompileRecord,
    TransformedRecord,
    VerdictRecord,
)
from depyf.run.run import Run
from depyf.safety.escape import one_line
from depyf.views.pages.full_code import full_code_page
from depyf.views.pages.function_pages import transformed_page
from depyf.views.pages.index import index_pages
from depyf.views.pages.markdown import code, message, plain
from depyf.views.pages.run_data import RunFindings

SOURCE = Path(__file__).parents[4] / "src" / "depyf"
FILES = sorted(SOURCE.rglob("*.py"))
OTHERS = (
    "actions/scripts/carried/comparing.py",
    "decompiler/verify/recompiling/worker.py",
)  # whose programs are constants
WRITER = "decompiler/emit/comments.py"
BREAKS = ["\n", "\r", "\r\n", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]
HIDDEN = ["\0", "\x1b", "\x07", "\x7f", "\x9b", "\u202e", "\u2066", "\u200b", "\u00ad", "\ufeff", "\ud800", "\u00a0"]


@pytest.mark.parametrize("mark", BREAKS + HIDDEN, ids=ascii)
def test_a_comment_is_one_line_of_what_is_printed(mark: str) -> None:
    for text in (comment(f"a{mark}b = 1"), remark("c = 1", f"a{mark}b = 1")):
        assert text.isprintable()
        assert ascii(mark)[1:-1] in text
        text.encode()
        assert len(text.splitlines()) == 1
        assert len(ast.parse(text).body) == text.startswith("c")


@pytest.mark.parametrize("name", ["coding: utf-7", "coding=utf-7", "-*- coding:rot13 -*-", "codingcoding:utf-7"])
def test_a_comment_declares_no_encoding(name: str) -> None:
    text = comment(f"UNVERIFIED: {name}: +AAoA-raise SystemExit") + "\nx = 1\n"
    assert not re.match(r"[ \t\f]*#.*?coding[:=][ \t]*[-\w.]+", text)
    tree = ast.parse(text.encode())
    assert ast.unparse(tree) == "x = 1"


def test_lines_are_those_of_python() -> None:
    assert source_lines("a\nb\rc\r\nd\n") == ["a", "b", "c", "d"]
    assert source_lines("'a\u2028b\x0cc'\n") == ["'a\u2028b\x0cc'"]
    assert comments("x\ny = 1\n", "  ") == "  # x\n  # y = 1"


def test_a_remark_joins_the_one_before_it() -> None:
    assert remark(remark("a", "b"), "c") == "a  # b, c"
    assert remark("a", "") == "a"


def test_one_line_of_a_message() -> None:
    assert one_line("a\n  b\u202e") == "a b\\u202e"
    assert comment("a\tb") == "# a\tb"


def test_docstrings() -> None:
    hostile = 'a"""\nimport os\n"""\\'
    text = f'"""{in_docstring(hostile)}\n"""\n'
    (node,) = ast.parse(text).body
    assert isinstance(node, ast.Expr)


def test_markdown() -> None:
    assert code("a") == "`a`"
    assert code("a`b``c\n# d") == "``` a`b``c\\n# d ```"
    assert plain("<script>[x](y)|`\n") == "\\<script>\\[x](y)\\|\\`\\n"
    assert message("see `f`: a < b\n and <b>") == "see `f`: a < b and \\<b>"


HOSTILE = 'f\nimport os\n"""\nimport os\u2028import os # coding: utf-7'


def test_the_flag_of_a_text_is_one_line() -> None:
    verdicts = (Verdict(HOSTILE, Status.UNVERIFIED, HOSTILE),)
    text = Decompiled("x = 1\n", verdicts, ()).shown
    assert ast.unparse(ast.parse(text.encode())) == "x = 1"
    assert text.splitlines()[1:] == ["x = 1"]


def hostile_function() -> FunctionRecord:
    code_record = CodeRecord(
        HOSTILE, HOSTILE, f"/tmp/{HOSTILE}.py", 7, (), ("x",), (), None, None, (), source="x" + HOSTILE
    )
    key = CompileKey(0, "0/0")
    place = Place(HOSTILE, 3, HOSTILE, HOSTILE)
    advice = (use("no-disable", function=HOSTILE),)
    broken = BreakRecord(HOSTILE, place, HOSTILE, HOSTILE, HOSTILE, (HOSTILE,), "", False, advice=advice)
    source = "def g(x):\n    return x\n"
    transformed = TransformedRecord(source, False, HOSTILE, (VerdictRecord(HOSTILE, "UNVERIFIED", HOSTILE),), (), ())
    guard = GuardRecord("NONE_MATCH", HOSTILE, "L['x'] is None", "L['x']", place, HOSTILE)
    again = RecompileRecord(HOSTILE, HOSTILE, place, HOSTILE, HOSTILE, advice)
    entry = EntryRecord(key, transformed, (guard,), "live", (broken,), (again,), failed=HOSTILE)
    return FunctionRecord((0, "0"), code_record, (entry,))


def test_pages_of_a_function_with_such_names_are_what_they_would_be_without() -> None:
    function = hostile_function()
    (entry,) = function.entries
    assert entry.transformed is not None
    page = transformed_page(entry.key, function.code, entry.transformed, HOSTILE).text
    assert ast.unparse(ast.parse(page.encode())) == "def g(x):\n    return x"
    page = full_code_page(function, ()).text
    imports = [node for node in ast.walk(ast.parse(page.encode())) if isinstance(node, ast.Import)]
    assert not imports


def test_the_index_of_a_run_with_such_names_has_no_heading_more() -> None:
    run = Run("2", "3", (hostile_function(),), (), (HOSTILE,), ((hostile_function().code, HOSTILE),))
    text = index_pages(RunFindings(run), causes_of(run), {"full_code_for_f.py": (hostile_function(),)}, {})["index.md"]
    lines = text.splitlines()
    assert lines == text[:-1].split("\n")
    assert not any(line.startswith(("import", '"""')) for line in lines)


def _comment_texts(tree: ast.Module) -> Iterator[ast.Constant]:
    """String constants that begin a comment, docstrings aside."""
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    after = {id(b.value) for block in _blocks(tree) for b in block if isinstance(b, ast.Expr)}  # of an attribute
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs | after:
            if re.search(r"(?:^|\n) *# |  #", node.value):
                yield node


def _blocks(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                yield block


READERS = {"compile", "partition", "split", "join", "startswith", "lstrip", "count"}
"""Calls that take a text apart, or put guards of torch together again, and write no Python."""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_nothing_else_writes_comments(path: Path) -> None:
    name = path.relative_to(SOURCE).as_posix()
    if name == WRITER or name in OTHERS:
        return
    tree = ast.parse(path.read_text(encoding="utf-8"))
    reading = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in READERS
        for argument in (node.func.value, *node.args)
        for part in ast.walk(argument)
    }
    reading |= {id(part) for node in ast.walk(tree) if isinstance(node, ast.Compare) for part in ast.walk(node)}
    found = [node for node in _comment_texts(tree) if id(node) not in reading and not _is_heading(name, node.value)]
    assert not found, [f"{name}:{node.lineno}: {node.value!r}" for node in found]


def _is_heading(name: str, text: object) -> bool:
    """The first line of a page in Markdown."""
    markdown = {
        "views/pages/index.py": "# What torch.compile did",
        "views/pages/shapes.py": "# Dynamic shapes",
        "views/pages/call_tree.py": "# Which call led to which compilation",
        "views/pages/memory.py": "# Memory",
        "actions/gallery/write.py": "# Compiled graphs",
        "actions/export/texts/readme_text.py": "# ",
        "actions/opened/opened_pages.py": "# ",
        "actions/opened/folder_page.py": "# ",
    }
    return name in markdown and str(text).startswith(markdown[name])
