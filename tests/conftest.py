"""Options and fixtures that every test may use."""

from __future__ import annotations

from typing import NoReturn

import pytest

from depyf import passes
from depyf.bytecode.codeunit import CodeUnit


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update", action="store_true", help="rewrite the golden cases with what the decompiler writes now"
    )


@pytest.fixture(autouse=True)
def _internal_errors_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug in one way to write a function is a failure, even where another way works."""

    def show(unit: CodeUnit, error: Exception) -> NoReturn:
        raise RuntimeError(f"internal error in {unit.qualname}") from error

    monkeypatch.setattr(passes, "on_internal_error", show)
