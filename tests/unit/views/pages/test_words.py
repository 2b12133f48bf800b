"""What the pages call a function."""

from __future__ import annotations

import pytest

from depyf.run.records import CodeRecord
from depyf.views.pages.sections.words import function_name, where


@pytest.mark.parametrize(
    ("qualname", "said"),
    [("Net.forward", "`Net.forward`"), ("Net.torch_dynamo_resume_in_forward_at_9", "`Net.forward` after line 9")],
)
def test_the_rest_of_a_function_has_the_name_of_the_whole(qualname, said):
    record = CodeRecord(qualname.rpartition(".")[2], qualname, "net.py", 9, (), (), (), None, None, ())
    assert function_name(record) == said
    assert where(record) == f"{said} (net.py:9)"
