"""Files of tensors in the format of safetensors, written and read without torch or numpy.

Format: 8 bytes (little endian) with the length of a JSON header, the header, the data of all tensors without gaps:
https://github.com/huggingface/safetensors#format.  Input of ``packed``: entries as raw bytes; output: the parts of the
file, none of which is copied.  Input of ``unpacked``: bytes that anybody may have written; output invariant: each entry
has exactly the bytes that its dtype and shape need, all within the file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from depyf.run.files.reading import DumpError, nesting
from depyf.safety.escape import printable

BYTES = "U8"
WIDTHS = {
    "F64": 8, "I64": 8, "U64": 8, "F32": 4, "I32": 4, "U32": 4, "F16": 2, "BF16": 2, "I16": 2, "U16": 2, BYTES: 1,
    "I8": 1, "BOOL": 1,
}  # fmt: skip
"""The types that are written, and the bytes of an element."""
_MOST_HEADER = 100_000_000
"""As in the safetensors library."""
_DEEPEST = 8
_SHIFTED = 8


@dataclass(frozen=True, slots=True)
class TensorEntry:
    """One tensor: a type of ``WIDTHS``, its shape, its elements in row-major order."""

    dtype: str
    shape: tuple[int, ...]
    data: memoryview


def packed(entries: Mapping[str, TensorEntry], metadata: Mapping[str, str]) -> list[memoryview]:
    """The parts of a file with ``entries``; wide types come first, so that all are aligned."""
    header: dict[str, object] = {"__metadata__": dict(metadata)}
    ordered = sorted(entries, key=lambda name: -WIDTHS[entries[name].dtype])  # stable
    place = 0
    for name in ordered:
        entry = entries[name]
        end = place + entry.data.nbytes
        header[name] = {"dtype": entry.dtype, "shape": list(entry.shape), "data_offsets": [place, end]}
        place = end
    text = json.dumps(header, ensure_ascii=True, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _SHIFTED)
    return [memoryview(len(text).to_bytes(8, "little") + text), *(entries[name].data for name in ordered)]


def unpacked(data: bytes, path: str) -> tuple[dict[str, TensorEntry], dict[str, str]]:
    """The entries and the metadata of a file; DumpError, which names ``path``, where it is not of this format."""
    if len(data) < 8:
        raise DumpError(f"{path} is damaged: it is too short for a file of tensors")
    length = int.from_bytes(data[:8], "little")
    if length > min(len(data) - 8, _MOST_HEADER):
        raise DumpError(f"{path} is damaged: its header does not fit into it")
    header = _header(data[8 : 8 + length], path)
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise DumpError(f"{path} is damaged: its metadata is no table of texts")
    view = memoryview(data)[8 + length :]
    return {name: _entry(name, item, view, path) for name, item in header.items()}, metadata


def _header(text: bytes, path: str) -> dict[str, object]:
    if nesting(text) > _DEEPEST:
        raise DumpError(f"{path} is damaged: its header nests too deep")
    try:
        found = json.loads(text.decode("utf-8"), parse_int=_integer)
    except (ValueError, RecursionError) as error:
        raise DumpError(f"{path} is damaged: its header is not JSON") from error
    if not isinstance(found, dict):
        raise DumpError(f"{path} is damaged: its header is no table")
    return found


def _integer(digits: str) -> int:
    if len(digits) > 19:
        raise ValueError("a number of more than 19 digits")
    return int(digits)


def _entry(name: str, item: object, data: memoryview, path: str) -> TensorEntry:
    wrong = DumpError(f"{path} is damaged: what it says of {printable(name[:80])!r} does not fit its data")
    if not isinstance(item, dict):
        raise wrong
    dtype, shape, offsets = item.get("dtype"), item.get("shape"), item.get("data_offsets")
    if (
        not isinstance(dtype, str)
        or dtype not in WIDTHS
        or not are_sizes(shape)
        or not are_sizes(offsets)
        or len(offsets) != 2
    ):
        raise wrong
    start, end = offsets
    if not start <= end <= len(data) or elements_in(shape) * WIDTHS[dtype] != end - start:
        raise wrong
    return TensorEntry(dtype, tuple(shape), data[start:end])


def are_sizes(value: object) -> TypeGuard[list[int]]:
    """Whether ``value`` is a list of at most 64 integers from 0 on."""
    return isinstance(value, list) and len(value) <= 64 and all(type(item) is int and item >= 0 for item in value)


def elements_in(shape: Sequence[int]) -> int:
    return math.prod(shape)
