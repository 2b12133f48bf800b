"""The journal: a line for what is new, and none for what an earlier line told."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from depyf.run.files.layout import RUN
from depyf.run.files.writer import DumpWriter
from depyf.run.records import CodeRecord, CompileKey, EntryRecord, FunctionRecord, GuardRecord
from depyf.run.run import Run
from depyf.run.store.journal import Journal

KEY = CompileKey(0, "0/0")
CODE = CodeRecord("f", "f", "a.py", 1, (), ("x",), (), None, None, ())
FUNCTION = FunctionRecord(KEY.function, CODE, ())
ENTRY = EntryRecord(KEY, None, (GuardRecord("TYPE_MATCH", "t", "type_is(L['x'], 'int')"),), "event", (), (), "")


def lines_after(tmp_path, *told):
    """How many lines each call of ``put`` adds."""
    journal = Journal(DumpWriter.open(tmp_path))
    journal.begin(Run("2.13.0", "3.11"))
    counts = [1]
    for records in told:
        journal.put(*records)
        counts.append(len((tmp_path / RUN).read_text(encoding="utf-8").splitlines()))
    return [after - before for before, after in pairwise(counts)]


def test_what_an_earlier_line_told_has_no_other(tmp_path):
    same = replace(ENTRY), replace(FUNCTION)
    first = (KEY.function, FUNCTION), (KEY, ENTRY)
    again = (KEY.function, same[1]), (KEY, same[0])
    assert lines_after(tmp_path, first, again) == [3, 0]  # the function, the guard, the entry


def test_what_changed_has_a_line_and_its_guards_only_once(tmp_path):
    changed = replace(ENTRY, operations=3)
    assert lines_after(tmp_path, [(KEY, ENTRY)], [(KEY.function, FUNCTION), (KEY, changed)]) == [2, 2]
