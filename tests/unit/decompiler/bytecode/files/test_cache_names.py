"""Names of ``.pyc`` files, and of the texts made of them."""

from __future__ import annotations

import itertools

import pytest

from depyf.decompiler.bytecode.files.cache_names import parse, text_names
from depyf.decompiler.bytecode.files.magic_numbers import MAGIC

HEADS = {f"3.{version[1]}": magic.to_bytes(2, "little") + b"\r\n" for magic, version in MAGIC.items()} | {"": bytes(4)}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("m.pyc", ((), "m", "", "")),
        ("p/m.x.pyc", (("p",), "m.x", "", "")),
        ("p/__pycache__/m.cpython-312.pyc", (("p",), "m", "cpython-312", "")),
        ("__pycache__/m.cpython-312.opt-1.pyc", ((), "m", "cpython-312", "1")),
        ("__pycache__/m.n.cpython-38.opt-2.pyc", ((), "m.n", "cpython-38", "2")),
        ("__pycache__/test_a.cpython-311-pytest-8.3.4.pyc", ((), "test_a", "cpython-311-pytest-8.3.4", "")),
        ("__pycache__/m.pypy39.pyc", ((), "m", "pypy39", "")),
        ("__pycache__/m.pyc", ((), "m", "", "")),
    ],
)
def test_parse(path: str, expected: tuple[object, ...]) -> None:
    assert tuple(parse(path.split("/"))) == expected


TREE = {
    "p/__pycache__/m.cpython-312.opt-1.pyc": ("3.12", "p/m.cpython-312.opt-1.py"),
    "p/__pycache__/m.cpython-312.opt-2.pyc": ("3.12", "p/m.cpython-312.opt-2.py"),
    "p/__pycache__/m.cpython-312.pyc": ("3.12", "p/m.py"),
    "p/__pycache__/m.cpython-38.pyc": ("3.8", "p/m.cpython-38.py"),
    "p/__pycache__/m.cpython-37.pyc": ("", "p/m.cpython-37.py"),
    "p/__pycache__/n.cpython-310.pyc": ("3.10", "p/n.py"),
    "p/n.pyc": ("3.9", "p/n.cpython-39.py"),
    "p/o.pyc": ("3.9", "p/o.py"),
    "p/__pycache__/q.cpython-39.opt-1.pyc": ("3.9", "p/q.py"),
}


def named(tree: dict[str, tuple[str, str]]) -> dict[str, str]:
    return dict(zip(tree, text_names([path.split("/") for path in tree], [HEADS[head] for head, _ in tree.values()])))


def test_newest_and_least_optimised_first() -> None:
    assert named(TREE) == {path: name for path, (_, name) in TREE.items()}


def test_order_does_not_matter() -> None:
    for order in itertools.islice(itertools.permutations(TREE), 0, 5000, 97):
        assert named({path: TREE[path] for path in order}) == {path: name for path, (_, name) in TREE.items()}


def test_every_name_is_another() -> None:
    """Also on file systems that take large letters for small ones, and where a name is that of another one's text."""
    paths = [
        "a/__pycache__/m.cpython-312.pyc", "a/__pycache__/m.cpython-38.pyc", "a/m.cpython-38.pyc", "A/M.pyc", "a/m.pyc", "a/m.pyc",
        "../x.pyc", "_/x.pyc", "x/../y.pyc", "x/_/y.pyc", "con.pyc", "\x1b[2J.pyc",
    ]  # fmt: skip
    heads = [HEADS["3.12"], HEADS["3.8"], *[HEADS["3.12"]] * (len(paths) - 2)]
    names = text_names([path.split("/") for path in paths], heads)
    assert len({name.casefold() for name in names}) == len(paths)
    for name in names:
        assert name.isprintable()
        assert ".." not in name.split("/")
        assert not name.startswith("/")
