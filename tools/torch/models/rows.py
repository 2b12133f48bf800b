"""A row of the catalogue: what to build, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

EMPTY: Mapping[str, Any] = MappingProxyType({})
INFERENCE, TRAINING = "inference", "training"
MODES = (INFERENCE, TRAINING)
BACKENDS = ("eager", "aot_eager", "inductor")


@dataclass(frozen=True, slots=True)
class Row:
    """One model.  ``library`` says which builder reads the rest."""

    name: str
    suite: str
    """``huggingface``, ``timm``, ``torchbench`` (the paper's) or ``recent``."""
    library: str
    """``transformers``, ``timm``, ``torchvision`` or ``own``."""
    target: str
    """The class of transformers, or the variant of timm and torchvision, that is built."""
    note: str = ""
    """Where the paper's name maps to something else today."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """What the small configuration needs beside the general rules; dotted names reach into sub-configurations."""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    """Inputs beside, or instead of, what the general rules make; a value is a shape with a kind, see ``inputs.py``."""
    modes: tuple[str, ...] = MODES
    steps: str = "forward"
    """``forward``, or ``generate``: text generation with a static cache."""


@dataclass(frozen=True, slots=True)
class Built:
    """A model ready to run."""

    module: Any
    inputs: Mapping[str, Any]
    """Keyword arguments of ``forward``, or positional ones under the names ``0``, ``1``, ..."""
