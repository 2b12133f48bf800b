"""Architectures of transformers since 2024, beyond the paper's list."""

from __future__ import annotations

from models.rows import Row

ROWS: tuple[Row, ...] = ()
