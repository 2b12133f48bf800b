"""README, ARCHITECTURE, CONTRIBUTING and docs/ say what is so: prompts print what they show, links and targets are there."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/**/*.md")])
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)


def blocks(path: Path, language: str) -> list[str]:
    return [text for kind, text in _FENCE.findall(path.read_text(encoding="utf-8")) if kind == language]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="what they show is the standard library of 3.11")
def test_prompts_in_the_readme_print_what_they_show(capsys):
    prompts = [text for text in blocks(ROOT / "README.md", "python") if text.startswith(">>> ")]
    assert prompts
    for text in prompts:
        typed = re.findall(r"^>>> (.*)\n", text, re.M)
        exec("\n".join(typed), {})
        assert capsys.readouterr().out.rstrip() == re.sub(r"^>>> .*\n", "", text, flags=re.M).rstrip()


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_python_in_documents_is_python(path):
    for text in blocks(path, "python"):
        if not text.startswith(">>> "):
            ast.parse(text)


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_links_in_documents_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[\w-]*)?\)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), f"{name_of(path)}: {target}"


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_targets_in_documents_exist(path):
    made = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    asked = re.findall(r"(?:^|`)make ([a-z][\w-]*)", path.read_text(encoding="utf-8"), re.M)
    assert set(asked) <= made, f"{name_of(path)}: {set(asked) - made}"


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_files_in_documents_exist(path):
    """``src/...``, ``tools/...``, ``tests/...`` and ``docs/...`` in code spans are files or folders of the repository."""
    for target in re.findall(r"`((?:src|tools|tests|docs|examples)/[\w./*-]+)`", path.read_text(encoding="utf-8")):
        assert list(ROOT.glob(target.rstrip("/"))), f"{name_of(path)}: {target}"
