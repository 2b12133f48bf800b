"""What a dump keeps of the inputs of one graph: ``__compiled_fn_0_0.Captured_Graph.0.safetensors``.

A file of tensors (``tensor_file``) with one entry for each memory that inputs lie in, and, as metadata, one item for
each input in the order of the graph's placeholders: a number, or where in which entry a tensor lies, or why it was left
out. Input of ``file_of``: records and raw bytes; input of ``read_recorded``: a file that anybody may have written.
Output invariant of both: an input that names an entry lies within it.
"""

from __future__ import annotations

import dataclasses
import json
import keyword
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from depyf.run.files.reading import DumpError, nesting, read_bytes
from depyf.run.recorded.tensor_file import BYTES, WIDTHS, TensorEntry, are_sizes, packed, unpacked
from depyf.safety.escape import printable

FORMAT = 1
LIMIT = 256 << 20
"""Bytes of tensors that ``record=True`` keeps in a whole dump."""
_KEY = "depyf.inputs"
_MOST = 1 << 36
_DEEPEST = 8
TYPES = {
    "torch.float64": "F64", "torch.int64": "I64", "torch.uint64": "U64", "torch.float32": "F32", "torch.int32": "I32",
    "torch.uint32": "U32", "torch.float16": "F16", "torch.bfloat16": "BF16", "torch.int16": "I16",
    "torch.uint16": "U16", "torch.uint8": BYTES, "torch.int8": "I8", "torch.bool": "BOOL",
}  # fmt: skip
"""torch's dtype -> that of the entry; a dtype that is not here is kept as bytes."""
BYTE_TYPES = {
    "torch.complex128": 16, "torch.complex64": 8, "torch.complex32": 4, "torch.float8_e4m3fn": 1,
    "torch.float8_e5m2": 1, "torch.float8_e4m3fnuz": 1, "torch.float8_e5m2fnuz": 1, "torch.float8_e8m0fnu": 1,
}  # fmt: skip
"""The others that can be kept -> bytes of an element."""


@dataclass(frozen=True, slots=True)
class RecordedInput:
    """One input (or constant) of a graph, as the program gave it."""

    name: str
    source: str = ""
    """Where the program keeps it: ``L['x']``."""
    tensor: str = ""
    """The entry in which it lies; "" for a number, and for what was left out."""
    dtype: str = ""
    shape: tuple[int, ...] = ()
    stride: tuple[int, ...] = ()
    offset: int = 0
    """In elements of ``dtype``, from the start of the entry; so are the strides."""
    device: str = "cpu"
    requires_grad: bool = False
    leaf: bool = True
    role: str = "input"
    """``input``, ``parameter`` or ``buffer``."""
    value: int | float | bool | None = None
    """Of a number."""
    left_out: str = ""
    """Why it was not kept; "" where it was."""


@dataclass(frozen=True, slots=True)
class CompiledWith:
    """How torch compiled a graph: the backend, its options, and other settings
    (``torch._inductor.config.max_autotune``) that are not the defaults; numbers, texts, and lists of these."""

    backend: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Recorded:
    """The first inputs of one graph; ``constants`` are the tensors that the graph itself holds, by their attribute
    names."""

    inputs: tuple[RecordedInput, ...]
    constants: tuple[RecordedInput, ...]
    rng: Mapping[str, str]
    """Device -> the entry with the state of its random number generator."""
    entries: Mapping[str, TensorEntry]
    error: str = ""
    """What the call raised, ``ValueError: ...``; "" for a call that is not known to have failed."""
    compiled_with: CompiledWith = CompiledWith()

    @property
    def complete(self) -> bool:
        return not any(item.left_out for item in (*self.inputs, *self.constants))


def file_of(recorded: Recorded) -> list[memoryview]:
    """The parts of the file."""
    page = {
        "format": FORMAT,
        "inputs": [_item(item) for item in recorded.inputs],
        "constants": [_item(item) for item in recorded.constants],
        "rng": dict(recorded.rng),
        **({"error": recorded.error} if recorded.error else {}),
        **({"compiled_with": dataclasses.asdict(recorded.compiled_with)} if recorded.compiled_with.backend else {}),
    }
    return packed(recorded.entries, {_KEY: json.dumps(page)})


def read_recorded(folder: Path, name: str) -> Recorded:
    """What the file ``name`` in ``folder`` holds; DumpError where it is damaged, or no such file."""
    path = printable(str(folder / name))
    entries, metadata = unpacked(read_bytes(folder, name, _MOST), path)
    try:
        text = metadata[_KEY]
        if nesting(text.encode("utf-8", "replace")) > _DEEPEST:
            raise ValueError("it nests too deep")
        page = json.loads(text)
        if page["format"] != FORMAT:
            raise ValueError("another version of depyf wrote it")
        inputs, constants = (tuple(_read(item, entries) for item in page[part]) for part in ("inputs", "constants"))
        rng = {str(device): str(entry) for device, entry in page["rng"].items()}
        error = page.get("error", "")
        if not isinstance(error, str):
            raise ValueError("an error is no text")
        how = _compiled_with(page.get("compiled_with", {}))
        if any(entries[entry].dtype != BYTES for entry in rng.values()):
            raise ValueError("a state of a generator is no bytes")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        raise DumpError(f"{path} is damaged: {printable(str(problem))[:200]}") from problem
    return Recorded(inputs, constants, rng, entries, error, how)


_LITERALS = (bool, int, float, str, type(None))


def _compiled_with(page: dict[str, Any]) -> CompiledWith:
    """ValueError and the like where it is wrong."""
    backend, options, settings = page.get("backend", ""), page.get("options", {}), page.get("settings", {})
    if not isinstance(backend, str):
        raise ValueError("a backend is no name")
    for name, value in [*options.items(), *settings.items()]:
        if not re.fullmatch(r"[A-Za-z_][\w.]*", name, re.ASCII) or any(map(keyword.iskeyword, name.split("."))):
            raise ValueError("a setting is no name")
        if any(type(item) not in _LITERALS for item in (value if isinstance(value, list) else [value])):
            raise ValueError("the value of a setting is no number, text, or list of these")
    return CompiledWith(backend, options, settings)


def _item(item: RecordedInput) -> dict[str, Any]:
    """The fields that say something; a number that JSON lacks as text."""
    found: dict[str, Any] = {}
    for known in dataclasses.fields(item):
        value = getattr(item, known.name)
        if (
            known.default is dataclasses.MISSING
            or value != known.default
            or (known.name == "value" and value is not None)
        ):
            found[known.name] = list(value) if isinstance(value, tuple) else value
    if isinstance(item.value, float) and not math.isfinite(item.value):
        found["value"] = repr(item.value)
    if item.tensor:
        found.update(shape=list(item.shape), stride=list(item.stride))
    return found


_KINDS: dict[str, type] = {
    "name": str, "source": str, "tensor": str, "dtype": str, "offset": int, "device": str, "requires_grad": bool,
    "leaf": bool, "role": str, "left_out": str,
}  # fmt: skip


def _read(found: Any, entries: Mapping[str, TensorEntry]) -> RecordedInput:
    """ValueError and the like where the item is wrong."""
    fields = {name: found[name] for name in _KINDS if name in found}
    for name, value in fields.items():
        if type(value) is not _KINDS[name]:
            raise ValueError(f"{name!r} of an input is of another type")
    for name in ("shape", "stride"):
        sizes = found.get(name, [])
        if not are_sizes(sizes):
            raise ValueError(f"{name!r} of an input is no list of sizes")
        fields[name] = tuple(sizes)
    value = found.get("value")
    if value in ("nan", "inf", "-inf"):
        value = float(value)
    if value is not None and type(value) not in (int, float, bool):
        raise ValueError("the value of an input is no number")
    item = RecordedInput(value=value, **fields)
    if item.tensor:
        _check_place(item, entries[item.tensor])
    return item


def _check_place(item: RecordedInput, entry: TensorEntry) -> None:
    width = element_width(item.dtype)
    if entry.dtype not in (BYTES, TYPES.get(item.dtype)) or not width or len(item.shape) != len(item.stride):
        raise ValueError(f"{item.name!r} does not fit its entry")
    last = sum((size - 1) * stride for size, stride in zip(item.shape, item.stride)) + 1
    end = item.offset + (last if math.prod(item.shape) else 0)
    if item.offset < 0 or entry.data.nbytes % width or end * width > entry.data.nbytes:
        raise ValueError(f"{item.name!r} does not lie within its entry")


def element_width(dtype: str) -> int:
    """Bytes of an element of torch's ``dtype``; 0 for one that is not known."""
    return WIDTHS.get(TYPES.get(dtype, ""), 0) or BYTE_TYPES.get(dtype, 0)
