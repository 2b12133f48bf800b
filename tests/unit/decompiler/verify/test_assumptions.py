"""Every assumption is named once, in one module, and listed in ``docs/reference/verdicts.md`` with the words that verdicts show."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from depyf.decompiler.verify import assumptions

ROOT = Path(__file__).parents[4]
TEXTS = [text for name, text in vars(assumptions).items() if name.endswith("_NOTE")]
_ITEM = re.compile(r'- \*([^*]+)\* \("(.+?)"\): ')


def test_each_is_named_once():
    assert TEXTS and len(set(TEXTS)) == len(TEXTS)
    names = [name for name in vars(assumptions) if name.isupper()]
    assert [name for name in names if not name.endswith("_NOTE")] == []


def test_the_documents_list_them_and_nothing_else():
    section = (
        (ROOT / "docs" / "reference" / "verdicts.md")
        .read_text(encoding="utf-8")
        .partition("## Assumptions a proof may name")[2]
    )
    listed = section.partition("What a verdict does not cover")[0]
    items = [_ITEM.match(" ".join(item.split())) for item in re.split(r"\n(?=- )", listed)[1:]]
    assert all(items), "each begins with its name and its text"
    assert sorted(item[2] for item in items) == sorted(text.strip() for text in TEXTS)
    assert len({item[1] for item in items}) == len(items)


def test_no_other_module_says_what_is_assumed():
    """A text that a verdict may show as an assumption stands in that module alone."""
    for path in sorted((ROOT / "src" / "depyf").rglob("*.py")):
        if path.name == "assumptions.py" or "sources" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isprintable():
                assert not re.match("assum(es|ing) that ", node.value), f"{path.name}, line {node.lineno}"
                assert node.value.strip() not in TEXTS, f"{path.name}, line {node.lineno}"
