"""The one reader of torch's ``# File:`` comments, in each form that torch has printed since 2.6."""

import pytest

from depyf.run.graphs.program_comments import place_in, places_in, with_file
from depyf.run.places.place import Place


@pytest.mark.parametrize(
    "line, place",
    [
        ("        # File: /a/x.py:3 in f, code: y = x + 1", Place("/a/x.py", 3, "f", "y = x + 1")),
        ("    # File: /a/x.py:3 in f", Place("/a/x.py", 3, "f")),
        ("    #File: /a/x.py:3 in forward, code: return a, b", Place("/a/x.py", 3, "forward", "return a, b")),
        ("    # ac_graph_id: 3 - PREFER File: /a/x.py:3 in f, code: y", Place("/a/x.py", 3, "f", "y")),
        ("    y = x;  # File: C:\\a\\x.py:12", Place("C:\\a\\x.py", 12)),
        ("    # File: <ipython-input-1-2>:3 in <lambda>, code: f = lambda: 1  ", Place("<ipython-input-1-2>", 3, "<lambda>", "f = lambda: 1")),
        ("    # File: /a b/x.py:3 in f, code: d = {1: 2, 'File: q.py:7': 3}", Place("/a b/x.py", 3, "f", "d = {1: 2, 'File: q.py:7': 3}")),
        ("    # File: /a/x.py:3 in f, code: ", Place("/a/x.py", 3, "f")),
        ("    # No stacktrace found for following nodes", None),
        ("    y = 'File: nowhere'", None),
        ("    # File: without a line", None),
    ],
)  # fmt: skip
def test_forms(line: str, place: Place | None) -> None:
    assert place_in(line) == place


def test_all_of_a_text_in_order() -> None:
    text = "# File: a.py:1 in f, code: x\nx = 1\n  # File: b.py:22 in g\n"
    assert [(place.filename, place.line) for place in places_in(text)] == [("a.py", 1), ("b.py", 22)]


def test_another_name_of_the_file() -> None:
    line = "    # counter 3 - File: /a/x.py:3 in f, code: y = '/a/x.py'"
    assert with_file(line, lambda name: name[3:], lambda start: start.replace("counter 3 - ", "")) == (
        "    # File: x.py:3 in f, code: y = '/a/x.py'"
    )
    assert with_file("y = 1", str.upper) == "y = 1"
