"""Records of a log, whole, damaged and among lines of others."""

from __future__ import annotations

import io

import pytest

from depyf.sources.trace_log import log_lines
from depyf.sources.trace_log.log_lines import LogLines
from trace_logs import TraceLog


def read(data: bytes) -> tuple[list[tuple[dict[str, object], str]], LogLines]:
    lines = LogLines(io.BytesIO(data))
    return [(record.metadata, record.payload) for record in lines], lines


def two() -> bytes:
    log = TraceLog()
    log.add({"a": {}}, "one\n\n\ttwo é", "0/0")
    log.add({"b": {}})
    return log.text.encode()


def test_metadata_and_payload() -> None:
    (first, second), lines = read(two())
    assert (first[0]["a"], first[0]["frame_id"], first[1]) == ({}, 0, "one\n\n\ttwo é")
    assert second == ({"b": {}}, "")
    assert not lines.faults and not lines.cut


@pytest.mark.parametrize("before", [b"", b"[rank3]:", b"2026-11-29T01:00:00Z host-7 "])
def test_what_a_collector_of_logs_writes_before_a_header(before: bytes) -> None:
    log = TraceLog()
    log.add({"a": {}})
    ((metadata, _),), _lines = read(before + log.text.encode())
    assert metadata.get("rank") == (3 if b"rank3" in before else None)


def test_lines_of_other_loggers() -> None:
    head, *payload = two().splitlines(keepends=True)
    found, lines = read(b"W1129 another logger\n" + head + b"".join(payload[:2]) + b"printed\n" + b"".join(payload[2:]))
    assert [text for _, text in found] == ["one\n\n\ttwo é", ""]
    assert dict(lines.faults) == {"lines that are no record of torch": 2}


def test_a_payload_that_lacks_lines() -> None:
    head, first, *rest = two().splitlines(keepends=True)
    found, lines = read(head + b"printed\n" + b"".join(rest))
    assert [text for _, text in found] == [""]
    assert lines.faults["records whose payload is cut"] == 1
    found, lines = read(head + first.replace(b"one", b"***") + b"".join(rest))  # who made it public took a name out
    assert (found[0][1], lines.changed, dict(lines.faults)) == ("***\n\n\ttwo é", 1, {})


def test_cut_at_any_byte() -> None:
    data = two()
    first, second = (data.index(b"V1129", start) for start in (0, 1))
    ends = {first, second - 1, second, len(data) - 1, len(data)}
    for end in range(len(data) + 1):
        found, lines = read(data[:end])
        assert lines.cut == (end not in ends), end
        assert [text for _, text in found] == ["one\n\n\ttwo é", ""][: (end >= second - 1) + (end >= len(data) - 1)]
        assert lines.changed == 0


def test_lines_of_any_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_lines, "LONGEST", 200)
    log = TraceLog()
    log.add({"a": "x" * 500})
    log.add({"b": {}})
    found, lines = read(log.text.encode())
    assert [sorted(metadata) for metadata, _ in found] == [["b"]]
    assert dict(lines.faults) == {"lines that are too long": 1}


@pytest.mark.parametrize(
    "text", ["[1]", "{", "{" * 5000, '{"a": 1e999', '{"a": ' + "9" * 5000 + "}", "null", '"\\ud800"']
)
def test_json_that_is_none(text: str) -> None:
    found, lines = read(f"V1129 01:00:00.000000 1 torch/x.py:1] {text}\n".encode())
    assert found == [] and sum(lines.faults.values()) == 1


def test_only_what_is_wanted_is_gathered() -> None:
    lines = LogLines(io.BytesIO(two()), lambda metadata: "b" in metadata)
    assert [record.metadata for record in lines] == [{"b": {}}]
