"""Dumps of one program in two folders: which folder of the one is which of the other."""

from __future__ import annotations

import pytest

from depyf.views.compare.program_folder import from_folder, program_folders
from depyf.views.compare.run_diff import events_apart
from run_records import broken, entry, function


def functions(*places, breaks=()):
    compiled = entry("0/0", breaks=tuple(map(broken, breaks)))
    return [function("f", place, compiled) for place in places]


@pytest.mark.parametrize(
    ("first", "second", "folders"),
    [
        (["/a/m.py:3"], ["/b/c/m.py:3"], ("/a/", "/b/c/")),
        (["/a/m.py:3", "/a/p/n.py:1"], ["/b/m.py:3", "/b/p/n.py:1"], ("/a/", "/b/")),
        (["/a/m.py:3", "/lib/x.py:1", "/lib/y.py:1"], ["/b/m.py:3", "/lib/x.py:1", "/lib/y.py:1"], ("/a/", "/b/")),
        (["/a/m.py:3"], ["/a/m.py:9"], ("", "")),
        (["/v/site-packages/t/m.py:3"], ["/w/site-packages/t/m.py:3"], ("", "")),
        (["<stdin>:1", "None"], ["<stdin>:1", ""], ("", "")),
        (["/a/m.py:3"], ["/b/n.py:3"], ("", "")),
    ],
)
def test_folders(first, second, folders):
    assert program_folders(functions(*first), functions(*second)) == folders


def test_break_in_a_file_that_compiled_nothing():
    one, two = functions("<stdin>:1", breaks=["/a/h.py:2"]), functions("<stdin>:1", breaks=["/b/h.py:2"])
    assert program_folders(one, two) == ("/a/", "/b/")


def test_only_whole_paths():
    assert from_folder("in /a/m.py, /x/a/m.py", "/a/") == "in <program>/m.py, /x/a/m.py"
    assert from_folder("/a/m.py", "") == "/a/m.py"


def test_events():
    one, two = functions("/a/m.py:3", breaks=["/a/h.py:2"]), functions("/b/m.py:3", breaks=["/b/h.py:2"])
    assert events_apart(one, two) == []
    other = functions("/b/m.py:3", breaks=["/b/h.py:4"])
    assert events_apart(one, other) == [
        "f (/a/m.py:3): only 1 breaks the graph at /a/h.py:2: c",
        "f (/b/m.py:3): only 2 breaks the graph at /b/h.py:4: c",
    ]
