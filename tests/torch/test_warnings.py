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
    return [(str(w.message), w.filename) for w in caught if str(w.message) in ("careful", "slowly")]
plain = said()
assert {text for text, _ in plain} == {"careful", "slowly"}, plain
with depyf.prepare_debug(sys.argv[1]):
    dumped = said()
    ignored = said(module="__main__"), said(message="careful")
assert len(dumped) <= len(plain) and {text for text, _ in dumped} == {text for text, _ in plain}, (dumped, plain)
assert all("__transformed_code_" in file and file.startswith(sys.argv[1]) for _, file in dumped), dumped
assert ignored[0] == [] and {text for text, _ in ignored[1]} == {"slowly"}, ignored
"""


def test_once_and_by_module(tmp_path):
    """Each is shown as often as without depyf, a filter by module or message holds, and the place is the text that runs."""
    done = run_python(PROGRAM, str(tmp_path / "dump"))
    assert done.returncode == 0, done.stderr
