"""Entries of a function are paired by their guards, then by their code, then by their order."""

from __future__ import annotations

from depyf.run.records import EntryRecord, GuardRecord, TransformedRecord
from depyf.views.compare.entry_pairing import paired_entries
from run_records import entry


def made(compile_id: str, *guards: str, source: str = "", operations: int = 1) -> EntryRecord:
    transformed = TransformedRecord(source, True, "", (), (), ()) if source else None
    records = tuple(GuardRecord("EQUALS_MATCH", text, text) for text in guards)
    return entry(compile_id, guards=records, transformed=transformed, operations=operations)


def ids(one: list[EntryRecord], two: list[EntryRecord]) -> list[tuple[str, str]]:
    return [(a.key.text if a else "", b.key.text if b else "") for a, b in paired_entries(one, two)]


def test_one_more_at_the_end_is_alone() -> None:
    """torch lists the newest first."""
    one = [made("0/1", "mode == 'b'"), made("0/0", "mode == 'a'")]
    two = [made("0/2", "mode == 'c'"), made("0/1", "mode == 'b'"), made("0/0", "mode == 'a'")]
    assert ids(one, two) == [("0/0", "0/0"), ("0/1", "0/1"), ("", "0/2")]
    assert ids(two, one) == [("0/0", "0/0"), ("0/1", "0/1"), ("0/2", "")]


def test_one_more_in_between() -> None:
    one = [made("0/0", "a"), made("0/1", "c")]
    two = [made("0/0", "a"), made("0/1", "b"), made("0/2", "c")]
    assert ids(one, two) == [("0/0", "0/0"), ("0/1", "0/2"), ("", "0/1")]


def test_numbers_in_torchs_names_do_not_count() -> None:
    assert ids([made("0/1", "G['__builtins_dict___4']", "x")], [made("0/0", "G['__builtins_dict___7']", "x")]) == [
        ("0/1", "0/0")
    ]


def test_of_the_same_guards_by_code_then_by_order() -> None:
    one = [made("0/0", "a", source="f(1)"), made("0/1", "a", source="g(1)")]
    two = [made("0/0", "a", source="g(1)"), made("0/1", "a", source="f(1)")]
    assert ids(one, two) == [("0/0", "0/1"), ("0/1", "0/0")]
    alike = [made("0/0", "a"), made("0/1", "a")]
    assert ids(alike, alike) == [("0/0", "0/0"), ("0/1", "0/1")]


def test_without_guards_by_code() -> None:
    """Compilations that failed, or whose guards nobody has kept."""
    assert ids([made("0/0", operations=3), made("0/1", operations=5)], [made("0/0", operations=5)]) == [
        ("0/0", ""),
        ("0/1", "0/0"),
    ]


def test_other_guards_go_to_the_nearest() -> None:
    one = [made("0/0", "a", "b", "c")]
    two = [made("0/0", "z"), made("0/1", "a", "b", "d")]
    assert ids(one, two) == [("0/0", "0/1"), ("", "0/0")]
