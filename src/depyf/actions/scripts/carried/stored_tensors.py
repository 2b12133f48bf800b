"""How scripts get the tensors that a dump recorded: from text in the script, or from a file beside it."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any, BinaryIO

import torch


def written_bytes(text: str, device: str = "cpu") -> torch.Tensor:
    """The bytes that are written in base64."""
    return torch.frombuffer(bytearray(base64.b64decode(text)), dtype=torch.uint8).to(device)


def stored_bytes(name: str, device: str = "cpu", path: Path | None = None) -> torch.Tensor:
    """The bytes of a tensor in a safetensors file: the one beside this script."""
    with (path or Path(__file__).with_suffix(".safetensors")).open("rb") as file:
        start, end = stored_header(file)[name]["data_offsets"]
        file.seek(start, 1)
        data = bytearray(file.read(end - start))
        return (torch.frombuffer(data, dtype=torch.uint8) if data else torch.empty(0, dtype=torch.uint8)).to(device)


def stored_header(file: BinaryIO) -> dict[str, Any]:
    """What a safetensors file says of its tensors; the data follow."""
    found: dict[str, Any] = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    return found
