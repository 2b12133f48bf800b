"""The catalogue needs torch and transformers; timm and torchvision come with ``make env``."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
