"""Unreachable code put into files of each version's library (``tools/fuzz/deadcode.py``): all of it proven."""

from __future__ import annotations

import pytest

from needs import need
from tools.env import interpreters
from tools.fuzz import deadcode

FILES = ("optparse.py", "csv.py", "json/decoder.py", "textwrap.py", "asyncio/locks.py", "shutil.py")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("version", interpreters.VERSIONS)
def test_proven(version: str, name: str) -> None:
    """This interpreter reads the file, that of ``version`` compiles it."""
    root = interpreters.stdlib_of(need(version))
    major, minor = map(int, version.split("."))
    text = deadcode.text_of(root, name, 1, (major, minor))
    if text is None:
        pytest.skip(f"{name} of Python {version} has syntax that this interpreter does not read")
    outcome = deadcode.examine(text, (major, minor))
    assert outcome is not None, "the text does not compile"
    assert outcome.bad == ()


def test_deterministic() -> None:
    source = "def f(x):\n" + "    x = [y for y in x if y]\n" * 40
    texts = {deadcode.injected(source, "seed", (3, 11)) for _ in range(3)}
    assert len(texts) == 1
    assert texts != {source}
