"""Lines of the program in a generated wrapper: none is given to what Inductor has none for."""

from __future__ import annotations

import sys
import types

import pytest

from depyf.run.graphs.program_comments import place_of_line
from depyf.sources.live.recording.wrapper_lines import user_lines, with_user_lines

WRAPPER = """\
def call(args):
    buf0 = empty_strided_cpu((40, ), (1, ))
    # Topologically Sorted Source Nodes: [kernel]
    kernel_0.run(arg0_1, buf0, 40)
    del arg0_1
    buf1 = empty_strided_cpu((40, ), (1, ))
    fused_1(buf0, buf1)
    return (buf1, )
"""
HERE = '  File "/program.py", line 34, in fixed\n    out = torch.empty_like(x)\n'
THERE = '  File "/program.py", line 37, in fixed\n    return out.sin() + 1\n'


@pytest.fixture
def linemaps(monkeypatch):
    pytest.importorskip("torch")
    maps = {"wrapper.py": ([2, 3, 6], [HERE, None, THERE]), "first.py": ([2, 6], [None, THERE])}
    module = types.SimpleNamespace(PyCodeCache=types.SimpleNamespace(linemaps=maps))
    monkeypatch.setitem(sys.modules, "torch._inductor.codecache", module)


def test_what_has_no_line_does_not_get_that_of_another(linemaps):
    places = user_lines("wrapper.py")
    assert places == {2: "/program.py:34 in fixed", 3: "", 6: "/program.py:37 in fixed"}
    text = with_user_lines(WRAPPER, places)
    lines = text.splitlines()
    assert len(lines) == len(WRAPPER.splitlines())
    found = [place and (place.filename, place.line) for place in (place_of_line(lines, n) for n in range(2, 9))]
    before, after, none = ("/program.py", 34), ("/program.py", 37), None
    assert found == [before, before, none, none, after, after, after]


def test_nothing_is_said_where_nothing_was_known_before(linemaps):
    assert user_lines("first.py") == {6: "/program.py:37 in fixed"}
    assert user_lines("other.py") == {}
