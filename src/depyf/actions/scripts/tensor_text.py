"""Recorded inputs as Python expressions for a script, and the entries for the file beside it.

Input: what a dump recorded of one graph.  Output: expressions that make the tensors with their values, strides, shared
memory, devices and gradients: ``torch.tensor([1.0, 2.0])`` where there are few, else from ``written_bytes`` (base64 in
the script) or ``stored_bytes`` (the file beside the script), which ``carried/stored_tensors.py`` defines.
"""

from __future__ import annotations

import base64
import math
import struct
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from depyf.run.graphs.value_types import same_layout
from depyf.run.recorded.recorded_inputs import Recorded, RecordedInput, element_width
from depyf.run.recorded.tensor_file import TensorEntry, elements_in

_CODES = {
    "torch.float64": "d", "torch.float32": "f", "torch.float16": "e", "torch.int64": "q", "torch.int32": "i",
    "torch.int16": "h", "torch.int8": "b", "torch.uint8": "B", "torch.bool": "?",
}  # fmt: skip
_USUAL = ("torch.float32", "torch.int64", "torch.bool")
"""The dtypes that ``torch.tensor`` takes for numbers of Python."""
_FEW = 16
"""Elements that are written as numbers."""
_WIDTH = 100
_INLINE = 1 << 12
"""Bytes of all tensors that are written into the script; if there are more they lie beside it."""


@dataclass
class TensorTexts:
    """The expressions for recorded tensors.  ``shared``: lines that define memory of several tensors; ``made``: input
    -> expression; ``beside``: the entries of the tensor file."""

    shared: list[str] = field(default_factory=list)
    made: dict[str, str] = field(default_factory=dict)
    beside: dict[str, TensorEntry] = field(default_factory=dict)


def tensor_texts(recorded: Recorded, items: Iterable[RecordedInput]) -> TensorTexts:
    """The expressions of ``items``, inputs or constants in ``recorded``; items whose values were not recorded get
    none."""
    kept = [item for item in items if not item.left_out]
    users = Counter((item.tensor, item.device) for item in kept if item.tensor)
    texts = TensorTexts()
    plain = {
        item.name: _numbers(recorded, item) for item in kept if item.tensor and users[item.tensor, item.device] == 1
    }
    others = {item.tensor for item in kept if item.tensor and not plain.get(item.name)}
    inline = sum(recorded.entries[name].data.nbytes for name in others) <= _INLINE
    names: dict[tuple[str, str], str] = {}
    for item in kept:
        if not item.tensor:
            texts.made[item.name] = number_text(item.value)
            continue
        made = plain.get(item.name)
        if not made:
            key = item.tensor, item.device
            where = names.get(key) or _memory(texts, recorded, item, inline)
            one_type = len({other.dtype for other in kept if (other.tensor, other.device) == key}) == 1
            if users[key] > 1 and key not in names:  # of one type: AOTAutograd wants one base of all views
                names[key] = f"memory_{len(names)}"
                texts.shared.append(f"{names[key]} = {where}{_typed(item) if one_type else ''}")
                where = names[key]
            made = _placed(where, item, recorded.entries[item.tensor], typed=users[key] > 1 and one_type)
        texts.made[item.name] = made + (".requires_grad_()" if item.requires_grad else "")
    return texts


def _memory(texts: TensorTexts, recorded: Recorded, item: RecordedInput, inline: bool) -> str:
    entry = recorded.entries[item.tensor]
    device = "" if item.device == "cpu" else f", {quoted(item.device)}"
    if inline:
        text = base64.b64encode(entry.data).decode()
        if len(text) <= _WIDTH:
            return f'written_bytes("{text}"{device})'
        lines = [f'            "{text[start : start + _WIDTH]}"' for start in range(0, len(text), _WIDTH)]
        return "\n".join(["written_bytes(", *lines[:-1], f"{lines[-1]}{device}", "        )"])
    texts.beside[item.tensor] = entry
    return f"stored_bytes({quoted(item.tensor)}{device})"


def _typed(item: RecordedInput) -> str:
    return "" if item.dtype == "torch.uint8" else f".view({item.dtype})"


def _placed(where: str, item: RecordedInput, entry: TensorEntry, typed: bool) -> str:
    if not entry.data.nbytes:
        device = "" if item.device == "cpu" else f", device={quoted(item.device)}"
        return f"torch.empty_strided({item.shape}, {item.stride}, dtype={item.dtype}{device})"
    view = where if typed else where + _typed(item)
    if _dense(item) and elements_in(item.shape) == entry.data.nbytes // element_width(item.dtype):
        return view if len(item.shape) == 1 else f"{view}.reshape({_sizes(item.shape)})"
    offset = f", {item.offset}" if item.offset else ""
    return f"{view}.as_strided({item.shape}, {item.stride}{offset})"


def _sizes(shape: tuple[int, ...]) -> str:
    return ", ".join(map(str, shape)) if shape else "()"


def _dense(item: RecordedInput) -> bool:
    return not item.offset and same_layout(item.shape, item.stride)


def _numbers(recorded: Recorded, item: RecordedInput) -> str:
    """``torch.tensor([1.0, 2.0])``; "" where there are many, or where that would not be the same to the bit."""
    entry, count = recorded.entries[item.tensor], elements_in(item.shape)
    code = _CODES.get(item.dtype)
    if code is None or not 0 < count <= _FEW or not _dense(item):
        return ""
    values = struct.unpack(f"<{count}{code}", entry.data[: count * struct.calcsize(code)])
    if any(isinstance(value, float) and not math.isfinite(value) for value in values):
        return ""
    return tensor_of([_short(value, code) for value in values], item.shape, item.dtype, item.device)


def tensor_of(values: Sequence[str], shape: tuple[int, ...], dtype: str, device: str) -> str:
    """``torch.tensor([[1.0, 2.0]])`` of the texts of all elements."""
    kind = "" if dtype in _USUAL and all(shape) else f", dtype={dtype}"
    place = "" if device == "cpu" else f", device={quoted(device)}"
    if not all(shape):
        return f"torch.empty({shape}{kind}{place})"
    return f"torch.tensor({_nested(values, shape)}{kind}{place})"


def _short(value: float | int | bool, code: str) -> str:
    """The shortest decimal number that is ``value`` in its dtype: 0.1, not 0.10000000149011612."""
    if code in "fe":
        for digits in range(1, 18):
            text = f"{value:.{digits}g}"
            if struct.pack(code, float(text)) == struct.pack(code, value):
                return repr(float(text))
    return repr(value)


def _nested(values: Sequence[str], shape: tuple[int, ...]) -> str:
    if not shape:
        return values[0]
    step = len(values) // shape[0]
    return f"[{', '.join(_nested(values[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0]))}]"


def number_text(value: int | float | bool | None) -> str:
    """A number as Python text; NaN and infinities as ``float("nan")``."""
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value)


def quoted(text: str) -> str:
    """``repr(text)``, in double quotes where that needs no more escapes."""
    plain = repr(text)
    return f'"{plain[1:-1]}"' if plain.startswith("'") and '"' not in plain else plain
