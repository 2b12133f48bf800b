"""A copy of a program has its own edited files, and links to the rest."""

from __future__ import annotations

import os

from depyf.actions.fixing.mirror import mirrored


def test_a_copy(tmp_path):
    root = tmp_path / "project"
    (root / "lib" / "deep").mkdir(parents=True)
    (root / "data").mkdir()
    for name in ("main.py", "lib/a.py", "lib/deep/b.py", "data/x.txt"):
        (root / name).write_text(name)
    mirror = mirrored(root, tmp_path / "copy", {str(root / "main.py"): "new", str(root / "lib" / "deep" / "b.py"): "b"})
    copy = tmp_path / "copy"
    assert (copy / "main.py").read_text() == "new" and (copy / "lib/deep/b.py").read_text() == "b"
    assert (copy / "lib/a.py").is_symlink() and (copy / "data").is_symlink() and not (copy / "lib").is_symlink()
    assert (copy / "data/x.txt").read_text() == "data/x.txt" and (root / "main.py").read_text() == "main.py"
    assert mirror.original(str(copy / "lib" / "a.py")) == str(root / "lib" / "a.py")
    assert mirror.original(os.__file__) == os.__file__
