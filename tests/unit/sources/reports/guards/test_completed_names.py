"""Names of files that torch shortens: the one file known that ends so, whenever it became known."""

from __future__ import annotations

import pytest

from depyf.sources.reports.guards.guard_text import CompletedNames


def test_a_name_is_completed_as_soon_as_its_file_is_known():
    names = CompletedNames()
    assert names("rog.py") == "rog.py"
    names.add(["/home/me/prog.py"])
    assert names("rog.py") == "rog.py"  # a name ends in the last part of a path, whole
    assert names("e/prog.py") == "/home/me/prog.py"


def test_a_name_that_two_files_end_in_stays_as_it_is():
    names = CompletedNames(["/home/me/prog.py"])
    assert names("me/prog.py") == "/home/me/prog.py"
    names.add(["/home/me/prog.py", "/srv/me/prog.py"])
    assert names("me/prog.py") == "me/prog.py"
    assert names("home/me/prog.py") == "/home/me/prog.py"


@pytest.mark.parametrize(("root", "whole"), [("torch", "torch/nn/functional.py"), ("", "nn/functional.py")])
def test_files_of_torch_have_its_name_before_theirs(root, whole):
    assert CompletedNames(torch_root=root)("nn/functional.py") == whole
