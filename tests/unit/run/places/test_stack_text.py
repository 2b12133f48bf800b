"""Frames of a printed stack, whoever printed it."""

from __future__ import annotations

from depyf.run.places.place import Place
from depyf.run.places.stack_text import frame_in, frames_in

STACK = """Traceback (most recent call last):
  File "/a/train.py", line 7, in step
    loss = model(x)
           ^^^^^^^^
  File "/a/net.py", line 3, in Net.forward
File "<frozen importlib>", line 1, in <module>
"""


def test_each_frame_has_its_line_where_one_is_below_it() -> None:
    assert frames_in(STACK) == [
        Place("/a/train.py", 7, "step", "loss = model(x)"),
        Place("/a/net.py", 3, "Net.forward"),
        Place("<frozen importlib>", 1, "<module>"),
    ]
    assert frames_in("no stack") == []


def test_one_line_counts_at_its_indentation_alone() -> None:
    line = '  File "/a/train.py", line 7, in step'
    assert frame_in(line, indent=2) == Place("/a/train.py", 7, "step")
    assert frame_in(line, indent=4) is None and frame_in("    loss = model(x)", indent=4) is None
