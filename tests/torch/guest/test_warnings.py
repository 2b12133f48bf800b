"""Warnings of the program under ``prepare_debug``: how often, for whom, and where they are said to come from."""

from __future__ import annotations

import pytest
from dumps import run_python

pytestmark = pytest.mark.torch

PROGRAM = """
import sys
import warnings
import torch
import depyf
def layer(x):
    y = x + 1
    warnings.warn("careful")
    z = y * 2
    print(end="")
    warnings.warn("slowly")
    return z * 2
fn = torch.compile(layer, backend="eager")
def said(**only):
    torch._dynamo.reset()
    globals().pop("__warningregistry__", None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        warnings.filterwarnings("ignore", **only) if only else None
        for _ in range(3):
            fn(torch.ones(2))
    return [(str(w.message), w.filename, w.lineno) for w in caught if str(w.message) in ("careful", "slowly")]
plain = said()
assert {text for text, *_ in plain} == {"careful", "slowly"}, plain
with depyf.prepare_debug(sys.argv[1]):
    dumped = said()
    ignored = said(module="__main__"), said(message="careful")
assert dumped == plain, (dumped, plain)
assert ignored[0] == [] and {text for text, *_ in ignored[1]} == {"slowly"}, ignored
"""


def test_once_and_by_module(tmp_path):
    """Each is shown as often as without depyf, a filter by module or message holds, and the place is the program's."""
    done = run_python(PROGRAM, str(tmp_path / "dump"))
    assert done.returncode == 0, done.stderr


ODD = r"""
import torch

def broken(x):
    pattern = "\("
    y = x + 1
    torch._dynamo.graph_break()
    return y * len(pattern + "\d")

def looping(xs):
    for x in xs:
        torch._dynamo.graph_break()
        pattern = "\."
    return xs[0] is 1

twice = lambda x: x * len("\[")
many = [lambda x: x + len("\]"), lambda x: x - len("\]")]

def shared(x):
    count = 1if x is not None else 2
    def more():
        nonlocal count
        count += 1 is 1
        return count
    return x * more()
"""

CALLS = """
import sys
import warnings
from collections import Counter
sys.path.insert(0, sys.argv[1])
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import odd
import torch
import depyf
x = torch.ones(2)


def compiled_and_called():
    for made, given in ((odd.broken, x), (odd.looping, [x]), (odd.twice, x), (odd.many[0], x), (odd.shared, x)):
        torch.compile(made, backend="eager")(given)


def of_the_source(heard):
    return [str(w.message) for w in heard if any(part in str(w.message) for part in ("escape", "literal", "depyf"))]


with warnings.catch_warnings(record=True) as alone:  # from 3.13 on the traceback module parses the lines that torch formats
    warnings.simplefilter("always")
    compiled_and_called()
torch._dynamo.reset()
with warnings.catch_warnings(record=True) as heard:
    warnings.simplefilter("always")
    with depyf.prepare_debug(sys.argv[2]):
        compiled_and_called()
    run = depyf.replay(torch.compile(odd.shared, backend="eager"))
    assert run(x).tolist() == odd.shared(x).tolist()
    depyf.explain(odd.broken), depyf.why(odd.broken, x)
told = Counter(of_the_source(heard)) - Counter(of_the_source(alone))
assert not told, told
import json, pathlib
folder = pathlib.Path(sys.argv[2])
assert json.loads((folder / "manifest.json").read_text())["notes"] == []
shown = "".join(path.read_text() for path in folder.glob("__original_code_*.txt"))
for text in (r'pattern = "\\(' + '"', r'len("\\[")', r'pattern = "\\."', "nonlocal count"):
    assert text in shown, (text, shown)
warnings.simplefilter("error")
for path in folder.glob("full_code_for_*.py"):
    import ast
    ast.parse(path.read_text())
"""


def test_the_program_is_not_warned_of_its_own_source(tmp_path):
    """Where depyf reads a file of the program, the compiler's warnings of it are not raised once more."""
    (tmp_path / "odd.py").write_text(ODD)
    done = run_python(CALLS, str(tmp_path), str(tmp_path / "dump"), options=("-W", "default"), alone=True)
    assert done.returncode == 0, done.stderr
