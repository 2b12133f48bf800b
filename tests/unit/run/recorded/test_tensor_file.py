"""Files of tensors: written as the format says, read with distrust."""

from __future__ import annotations

import json

import pytest

from depyf.run.files.reading import DumpError
from depyf.run.recorded.tensor_file import TensorEntry, packed, unpacked


def entry(dtype: str, shape: tuple[int, ...], data: bytes) -> TensorEntry:
    return TensorEntry(dtype, shape, memoryview(data))


def whole(parts: list[memoryview]) -> bytes:
    return b"".join(parts)


def written(header: object, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def test_what_is_written_is_read_back() -> None:
    entries = {
        "a": entry("U8", (3,), b"abc"),
        "b": entry("F32", (1, 2), bytes(range(8))),
        "empty": entry("I64", (0, 2), b""),
        "scalar": entry("BOOL", (), b"\1"),
    }
    data = whole(packed(entries, {"what": "numbers"}))
    found, metadata = unpacked(data, "x")
    assert metadata == {"what": "numbers"}
    assert {name: (e.dtype, e.shape, bytes(e.data)) for name, e in found.items()} == {
        name: (e.dtype, e.shape, bytes(e.data)) for name, e in entries.items()
    }


def test_wide_types_are_aligned() -> None:
    data = whole(packed({"a": entry("U8", (3,), b"abc"), "b": entry("F64", (1,), bytes(8))}, {}))
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    assert header["b"]["data_offsets"] == [0, 8] and header["a"]["data_offsets"] == [8, 11] and length % 8 == 0


GOOD = {"a": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]}}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"1234567",
        (1 << 63).to_bytes(8, "little") + b"{}",
        written(b"[]"),
        written(b"{"),
        written(b"\xff\xfe"),
        written(b"[" * 100_000),
        written(b'{"a":' * 1000),
        written({"__metadata__": []}),
        written({"__metadata__": {"a": 1}}),
        written({"a": []}),
        written({"a": {}}),
        written(GOOD, b"1"),
        written({"a": {**GOOD["a"], "dtype": "F32"}}, b"12"),
        written({"a": {**GOOD["a"], "dtype": ["U8"]}}, b"12"),
        written({"a": {**GOOD["a"], "shape": [-2]}}, b"12"),
        written({"a": {**GOOD["a"], "shape": [True, 2]}}, b"12"),
        written({"a": {**GOOD["a"], "shape": [1] * 65}}, b"12"),
        written({"a": {**GOOD["a"], "data_offsets": [0, 1, 2]}}, b"12"),
        written({"a": {**GOOD["a"], "data_offsets": [2, 0]}}, b"12"),
        written(b'{"a":{"dtype":"U8","shape":[' + b"9" * 5000 + b'],"data_offsets":[0,2]}}', b"12"),
    ],
)
def test_damaged_files_are_refused(data: bytes) -> None:
    with pytest.raises(DumpError, match="x is damaged"):
        unpacked(data, "x")
