"""Where an interpreter is looked for."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from depyf.decompiler.verify.recompiling.interpreters import find_interpreter, home, installed_by_us


@pytest.mark.skipif(os.name != "posix", reason="on Windows each user has a folder")
def test_a_user_without_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container that runs with a number of its own, and no ``$HOME``."""
    for name in ("HOME", "PYENV_ROOT", "XDG_CACHE_HOME", "XDG_DATA_HOME", "UV_PYTHON_INSTALL_DIR", "DEPYF_PYTHONS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(os, "getuid", lambda: 2**31 - 7)
    with pytest.raises(RuntimeError):
        Path.home()
    find_interpreter.cache_clear()
    try:
        assert find_interpreter((3, 99)) is None
        assert find_interpreter(sys.version_info[:2]) == sys.executable
        assert not home().is_dir() and not installed_by_us().exists()
    finally:
        find_interpreter.cache_clear()
