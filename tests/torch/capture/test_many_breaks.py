"""With N graph breaks in a function the dump, and the work for it, grow with N: no rest of the function is shown twice."""

from __future__ import annotations

import ast
import inspect
import sys
import types
from pathlib import Path

import pytest
import torch
from dumps import check_dump, files_of
from torch._dynamo.bytecode_transformation import cleaned_instructions
from torch._dynamo.resume_execution import ContinueExecutionCache

import depyf
from depyf.decompiler.driver.pipeline import decompile_code
from depyf.sources.live.generated import resume_options
from depyf.sources.live.recording.disassembly import disassembly
from depyf.sources.live.recording.rests import shares

pytestmark = pytest.mark.torch

BODIES = {
    "plain": "x = x * {n}.0 + x.sin()\nprint(end='')",
    "variables": "a{n} = x * {n}.0\nprint(end='')\nx = a{n} + x",
    "deleted": "a{n} = x * {n}.0\nprint(end='')\nx = a{n} + x\ndel a{n}",
    "expression": "x = x + torch.add(x.sin(), int(print(end='') is None), alpha={n})",
    "branch": "if x.sum() > {n}:\n    x = x - 1.0\nelse:\n    x = x * 2.0",
    "one way": "x = x + {n}.0\nif not flags:\n    print(end='')\nelse:\n    x = x * 2.0",
    "return": "if x.sum() < -{n}e9:\n    return x * {n}\nx = x * 2.0",
    "with": "with torch.no_grad():\n    x = x * {n}.0\n    print(end='')\n    x = x + 1",
    "loop": "for j in range(2):\n    x = x * {n}.0 + j\nprint(end='')\nwhile len(flags) > 2:\n    x = x + 1",
}


def program(kind: str, count: int, head: str = "def f(x, flags):", margin: str = "    ") -> str:
    lines = [line for n in range(count) for line in BODIES[kind].format(n=n).split("\n")]
    return "\n".join(["import torch", head, *(margin + line for line in lines), "    return x", ""])


def function(tmp_path: Path, text: str, name: str) -> types.FunctionType:
    path = tmp_path / f"{name}.py"
    path.write_text(text)
    names: dict[str, types.FunctionType] = {}
    exec(compile(text, str(path), "exec"), names)
    return names["f"]


def calls_during(work) -> int:
    """How many functions of depyf are called."""
    count = 0

    def profile(frame, event, argument):
        nonlocal count
        count += event == "call" and "/src/depyf/" in frame.f_code.co_filename

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def recorded(tmp_path: Path, text: str, name: str, folder: Path) -> tuple[int, int]:
    """How many bytes are written, and how many functions are called while the context is left."""
    f = function(tmp_path, text, name)
    context = depyf.prepare_debug(folder)
    context.__enter__()
    torch.compile(f, backend="eager")(torch.ones(3), ())
    calls = calls_during(lambda: context.__exit__(None, None, None))
    torch._dynamo.reset()  # the next dump has nothing of this one
    return sum(path.stat().st_size for path in folder.iterdir()), calls


@pytest.mark.parametrize("kind", sorted(BODIES))
def test_a_dump_grows_with_its_breaks(kind, tmp_path):
    small, large = (recorded(tmp_path, program(kind, n), f"p{n}", tmp_path / f"d{n}") for n in (6, 18))
    assert 2.5 < large[0] / small[0] < 3.15, (small, large)
    assert 2 < large[1] / small[1] < 3.4, (small, large)
    check_dump(tmp_path / "d18")


def test_one_with_around_all_breaks(tmp_path):
    text = [program("plain", n, "def f(x, flags):\n    with torch.no_grad():", "        ") for n in (8, 24)]
    small, large = (recorded(tmp_path, t, f"p{len(t)}", tmp_path / f"d{len(t)}") for t in text)
    assert large[0] / small[0] < 3.15 and large[1] / small[1] < 3.4, (small, large)


def test_each_goes_on_in_the_next(tmp_path):
    f = function(tmp_path, program("variables", 3), "p")
    with depyf.prepare_debug(tmp_path / "d"):
        torch.compile(f, backend="eager")(torch.ones(3), ())
    page = (tmp_path / "d" / "full_code_for_f_0.py").read_text()
    rests = [
        node
        for node in ast.parse(page).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("__original_") and node.name != "__original_f"
    ]
    assert [[ast.unparse(line) for line in node.body] for node in rests] == [
        ["x = a0 + x", "a1 = x * 1.0", f"return {rests[1].name}(print(end=''), ...)"],
        ["x = a1 + x", "a2 = x * 2.0", f"return {rests[2].name}(print(end=''), ...)"],
        ["x = a2 + x", "return x"],
    ]
    assert page.count("# the rest, from line 7 on") == page.count("# the rest, from line 10 on") == 1
    manifest = check_dump(tmp_path / "d")
    names = files_of(manifest, kind="original_code")
    texts = [(tmp_path / "d" / name).read_text() for name in names]
    assert f"and so on, as in {names[2]}\n" in texts[1] and "RETURN_VALUE" not in texts[1]
    assert texts[0].count("RETURN_VALUE") == texts[3].count("RETURN_VALUE") == 1


def test_the_ways_of_a_branch_share_what_follows(tmp_path):
    """Where a text goes on in the middle of another one it says so, and in which line."""
    f = function(tmp_path, program("one way", 3), "p")
    with depyf.prepare_debug(tmp_path / "d"):
        torch.compile(f, backend="eager")(torch.ones(3), ())
    page = (tmp_path / "d" / "full_code_for_f_0.py").read_text()
    # the end of an `else`, or, as the code of 3.10 tells no `else` there, of the function
    margin = " " * (8 if sys.version_info >= (3, 11) else 4)
    rest = "return goes_on_from_line_13(...)  # the rest, from line 13 on, is in __original_resume_at_"
    assert f"\n{margin}{rest}" in page


def cut_after(code: types.CodeType, offset: int, stack: int) -> types.CodeType:
    """What torch resumes at ``offset``, with so many values on the stack."""
    given = {
        "code": code, "lineno": code.co_firstlineno, "init_offset": offset, "resume_offset": offset, "offset": offset,
        "nstack": stack, "argnames": ("x",), "handle_inactive_ctx": False, "pop_nested_resume_result": False,
    }  # fmt: skip
    wanted = inspect.signature(ContinueExecutionCache.generate).parameters
    made = ContinueExecutionCache.generate(**{name: given.get(name, ()) for name in wanted})
    assert isinstance(made, types.CodeType)
    return made


def test_hundreds_of_breaks(tmp_path):
    """Counted: functions called, and characters of text and listing, for 20 to 180 resume functions."""
    found = {}
    for count in (20, 60, 180):
        code = function(tmp_path, program("plain", count), f"p{count}").__code__
        after = [i.offset for i in cleaned_instructions(code) if i.opname == "POP_TOP"]  # of 3.14 torch adds some
        family = {(0, str(n)): cut_after(code, offset, 1) for n, offset in enumerate(after)}
        assert len(family) == count
        sizes = []

        def all_shown(family=family, sizes=sizes):
            for name, share in shares(family).items():
                text = decompile_code(share.code(), options=resume_options())
                assert text.proven
                sizes.append(len(share.with_references(text.source, "__original_{0[1]}".format)))
                sizes.append(len(disassembly(family[name], share.part("file_{0[1]}".format))))

        calls = calls_during(all_shown)
        assert len(sizes) == 2 * count
        found[count] = calls, sum(sizes)
    for count in (20, 60):
        assert all(2.7 < more / less < 3.3 for less, more in zip(found[count], found[3 * count])), found


def test_what_is_cut_inside_a_method_call_has_a_text(tmp_path):
    """A method and its object are two slots there, which no source hands on as two values."""
    text = (
        "import torch\n\nclass Parser:\n    def error(self, *what): return what\n    def parse(self, x):\n"
        "        x = x.sin()\n        msg = note(1)\n        self.error(msg, note(2), note(3))\n        return x + 1\n\n"
        "@torch._dynamo.disable\ndef note(n): return n\n\nf = Parser().parse\n"
    )
    run = torch.compile(function(tmp_path, text, "methods"), backend="eager")
    torch._dynamo.reset()
    with depyf.prepare_debug(tmp_path / "dump"):
        run(torch.ones(2))
    texts = "\n".join(path.read_text() for path in sorted((tmp_path / "dump").glob("__original_code*")))
    assert "cannot decompile" not in texts
    assert "self.error(msg, note(2), note(3))" in texts
