"""How scripts get the tensors that a dump recorded: from text in the script, or from a file beside it.

Like ``harness.py``: never imported by depyf, but copied into scripts.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path

import torch


def written_bytes(text: str, device: str = "cpu") -> torch.Tensor:
    """The bytes that are written in base64."""
    return torch.frombuffer(bytearray(base64.b64decode(text)), dtype=torch.uint8).to(device)


def stored_bytes(name: str, device: str = "cpu") -> torch.Tensor:
    """The bytes of a tensor in the safetensors file beside this script."""
    with Path(__file__).with_suffix(".safetensors").open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        start, end = header[name]["data_offsets"]
        file.seek(start, 1)
        return torch.frombuffer(bytearray(file.read(end - start)), dtype=torch.uint8).to(device)
