"""What a dump says of recorded inputs, and that nobody is led out of the file by it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from depyf.run.files.reading import DumpError
from depyf.run.recorded.recorded_inputs import Recorded, RecordedInput, file_of, read_recorded
from depyf.run.recorded.tensor_file import TensorEntry, packed

NAME = "x.safetensors"
ENTRY = TensorEntry("F32", (6,), memoryview(bytes(24)))
RNG = TensorEntry("U8", (4,), memoryview(b"seed"))
ITEM: dict[str, Any] = {
    "name": "x",
    "tensor": "x",
    "dtype": "torch.float32",
    "shape": [2, 2],
    "stride": [3, 1],
    "offset": 1,
}
PAGE: dict[str, Any] = {"format": 1, "inputs": [ITEM], "constants": [], "rng": {"cpu": "rng.cpu"}}


def put(folder: Path, page: object) -> Path:
    text = page if isinstance(page, str) else json.dumps(page)
    (folder / NAME).write_bytes(b"".join(packed({"x": ENTRY, "rng.cpu": RNG}, {"depyf.inputs": text})))
    return folder


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    inputs = (
        RecordedInput("x", "L['x']", "x", "torch.float32", (2, 2), (3, 1), 1, "cuda:0", True, False, "parameter"),
        RecordedInput("scalar", tensor="x", dtype="torch.float32"),
        RecordedInput("n", value=3),
        RecordedInput("flag", value=False),
        RecordedInput("zero", value=0),
        RecordedInput("low", value=-math.inf),
        RecordedInput("big", dtype="torch.int8", shape=(9,), stride=(1,), left_out="9 B; the limit is 8 B"),
    )
    recorded = Recorded(inputs, inputs[:1], {"cpu": "rng.cpu"}, {"x": ENTRY, "rng.cpu": RNG})
    (tmp_path / NAME).write_bytes(b"".join(file_of(recorded)))
    found = read_recorded(tmp_path, NAME)
    assert (found.inputs, found.constants, found.rng) == (inputs, inputs[:1], {"cpu": "rng.cpu"})
    assert bytes(found.entries["rng.cpu"].data) == b"seed" and not found.complete


def test_a_good_page_is_read(tmp_path: Path) -> None:
    assert read_recorded(put(tmp_path, PAGE), NAME).inputs[0].offset == 1


@pytest.mark.parametrize(
    "page",
    [
        "[" * 100_000,
        "{",
        "[]",
        {},
        {**PAGE, "format": 2},
        {**PAGE, "inputs": None},
        {**PAGE, "inputs": [None]},
        {**PAGE, "inputs": [{}]},
        {**PAGE, "inputs": [{**ITEM, "name": 1}]},
        {**PAGE, "inputs": [{**ITEM, "name": ["x"]}]},
        {**PAGE, "inputs": [{**ITEM, "tensor": "y"}]},
        {**PAGE, "inputs": [{**ITEM, "dtype": "torch.float64"}]},
        {**PAGE, "inputs": [{**ITEM, "dtype": "__import__('os')"}]},
        {**PAGE, "inputs": [{**ITEM, "shape": [2, 3]}]},
        {**PAGE, "inputs": [{**ITEM, "shape": [1 << 62, 1 << 62]}]},
        {**PAGE, "inputs": [{**ITEM, "stride": [-3, 1]}]},
        {**PAGE, "inputs": [{**ITEM, "stride": [3]}]},
        {**PAGE, "inputs": [{**ITEM, "offset": -1}]},
        {**PAGE, "inputs": [{**ITEM, "offset": 3}]},
        {**PAGE, "inputs": [{**ITEM, "value": "text"}]},
        {**PAGE, "inputs": [{**ITEM, "value": [1]}]},
        {**PAGE, "rng": []},
        {**PAGE, "rng": {"cpu": "y"}},
        {**PAGE, "rng": {"cpu": "x"}},
    ],
    ids=lambda page: json.dumps(page)[:60],
)
def test_damaged_pages_are_refused(tmp_path: Path, page: object) -> None:
    with pytest.raises(DumpError, match=r"x\.safetensors is damaged"):
        read_recorded(put(tmp_path, page), NAME)


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    put(tmp_path, PAGE).joinpath(NAME).rename(tmp_path / "y.safetensors")
    (tmp_path / NAME).symlink_to(tmp_path / "y.safetensors")
    with pytest.raises(DumpError, match="symbolic link"):
        read_recorded(tmp_path, NAME)
