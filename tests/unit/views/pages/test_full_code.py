"""What the page of a function says of an entry without code."""

from __future__ import annotations

import pytest

from depyf.run.made import Made
from depyf.run.records import CodeRecord, CompileKey, EntryRecord, FunctionRecord
from depyf.views.pages.full_code import full_code_page

CODE = CodeRecord("f", "f", "/p/train.py", 3, ("x",), (), (), None, None, ())


def text(made: Made, raised: bool = False) -> str:
    entry = EntryRecord(CompileKey(0, "0/0"), None, (), "none", made=made, raised=raised)
    joined = full_code_page(FunctionRecord((0, "0"), CODE, (entry,), None), ()).text
    return " ".join(joined.replace("\n# ", " ").split())


@pytest.mark.parametrize("made", [Made.CALL_LOADED, Made.AHEAD_LOADED])
def test_what_was_loaded_and_is_gone_did_not_run_as_python(made):
    page = text(made)
    assert "Compile id 0/0 was loaded: torch no longer had it when the recording looked" in page
    assert "ordinary Python" not in page


def test_what_made_no_code_ran_as_python_or_raised():
    assert "0/0: nothing was compiled, the function ran as ordinary Python." in text(Made.CALL)
    assert "0/0: nothing was compiled, torch raised an error." in text(Made.CALL, raised=True)
