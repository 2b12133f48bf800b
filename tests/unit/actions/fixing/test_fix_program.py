"""A line of the edited copy is told as the line of the program as it is."""

from __future__ import annotations

import pytest

from depyf.actions.fixing.fix_program import line_as_it_is
from depyf.run.places.place import Place

BEFORE = "import a\n\ndef f(x):\n    y = x.item()\n    return y\n"
AFTER = "import a\n\na.setting = True\n\n\ndef f(x):\n    y = x.detach()\n    return y\n"


@pytest.mark.parametrize(("line", "was"), [(1, 1), (3, 3), (6, 3), (7, 4), (8, 5)])
def test_lines_below_an_edit(line: int, was: int) -> None:
    place = Place("m.py", line, "f", "")
    assert line_as_it_is(place, {"m.py": BEFORE}, {"m.py": AFTER}) == Place("m.py", was, "f", "")


def test_files_without_an_edit() -> None:
    place = Place("n.py", 7, "f", "")
    assert line_as_it_is(place, {"m.py": BEFORE}, {"m.py": AFTER}) == place
    assert line_as_it_is(None, {}, {}) is None
