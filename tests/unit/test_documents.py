"""README, ARCHITECTURE, CONTRIBUTING and docs/ say what is so: prompts print what they show, links and targets are there."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])
_FENCE = re.compile(r"^```([\w-]*)\n(.*?)^```$", re.M | re.S)


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


# ARCHITECTURE.md: names, example and indexes are those of the code

ARCHITECTURE = ROOT / "ARCHITECTURE.md"
SOURCE = ROOT / "src" / "depyf"
CORE = (
    "decompiler/bytecode",
    "decompiler/ir",
    "decompiler/cfg",
    "decompiler/lift",
    "decompiler/structure",
    "decompiler/idioms",
    "decompiler/fallback",
    "decompiler/generated",
    "decompiler/driver",
    "decompiler/emit",
    "decompiler/verify",
    "safety",
)
LONGEST_LINE, MOST_LINES = 140, 480


def in_code_spans(text: str) -> set[str]:
    """What stands in code spans, outside of fenced blocks."""
    return set(re.findall(r"`([^`\n]+)`", _FENCE.sub("", text)))


def section(title: str) -> str:
    _, _, rest = ARCHITECTURE.read_text(encoding="utf-8").partition(f"\n## {title}")
    assert rest, f"ARCHITECTURE.md has no section {title!r}"
    return rest.partition("\n## ")[0]


def test_architecture_is_short_enough_to_read():
    lines = ARCHITECTURE.read_text(encoding="utf-8").splitlines()
    assert len(lines) < MOST_LINES
    assert [number for number, line in enumerate(lines, 1) if len(line) > LONGEST_LINE] == []


def test_files_in_the_architecture_exist():
    """A file is named from the repository, or by as much of its path in ``src/depyf`` as makes it one file; a folder ends in /."""
    modules = [path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py")]
    for name in in_code_spans(ARCHITECTURE.read_text(encoding="utf-8")):
        if name.endswith(".py") and " " not in name:
            found = [module for module in modules if f"/{module}".endswith(f"/{name}")]
            assert len(found) == 1 or (ROOT / name).is_file(), f"{name}: {found or 'there is no such file'}"
        elif name.endswith("/") and " " not in name:
            found = [
                path
                for path in SOURCE.rglob("*")
                if path.is_dir() and f"/{path.relative_to(SOURCE).as_posix()}/".endswith(f"/{name}")
            ]
            assert len(found) == 1 or (ROOT / name).is_dir(), f"{name}: {found or 'there is no such folder'}"


def test_every_module_of_the_core_is_in_the_architecture():
    """By its name, or, in a folder inside a package, by that of the folder."""
    named = in_code_spans(ARCHITECTURE.read_text(encoding="utf-8"))
    files = {name.rsplit("/", 1)[-1] for name in named}
    missing = [
        relative
        for package in CORE
        for path in sorted((SOURCE / package).rglob("*.py"))
        for relative in [path.relative_to(SOURCE).as_posix()]
        if path.name not in (*files, "__init__.py")
        and not any(
            f"/{relative}".rpartition("/")[0].endswith(f"/{room.rstrip('/')}")
            for room in named
            if room.endswith("/") and room != f"{package}/"
        )
    ]
    assert missing == [], "say in a line of ARCHITECTURE.md what they are for"


@pytest.mark.parametrize("module", ["stmt.py", "expr.py"])
def test_every_node_is_in_the_index_of_constructs(module):
    tree = ast.parse((SOURCE / "decompiler/ir" / module).read_text(encoding="utf-8"))
    classes = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
    named = set(re.findall(r"\w+", " ".join(in_code_spans(section("Index: construct -> files")))))
    assert classes
    assert [name for name in classes if name not in named] == []


def test_every_optimisation_that_is_undone_is_in_the_index_of_constructs():
    named = in_code_spans(section("Index: construct -> files"))
    undone = sorted(path.name for path in (SOURCE / "decompiler/cfg/undo").glob("*.py") if path.name != "__init__.py")
    assert [name for name in undone if name not in named] == []


def test_changes_that_strangers_make_are_in_the_index_of_changes():
    text = section("Index: change -> places")
    for change in (
        "An opcode of a new Python", "A new Python version", "An artifact of a new torch", "A new torch", "A new idiom", "A new pass",
        "A new column or section of `index.md`", "A new CLI command", "A new guard type", "A new assumption of the proof",
    ):  # fmt: skip
        assert len(re.findall(rf"^- \*\*{re.escape(change)}\.\*\* ", text, re.M)) == 1, change
    for name in re.findall(r"`([A-Z_]+)` in `([\w/.]+\.py)`", text):
        (path,) = [
            path
            for path in (*SOURCE.rglob("*.py"), *ROOT.glob("tools/**/*.py"))
            if path.as_posix().endswith(f"/{name[1]}")
        ]
        assert re.search(rf"^{name[0]}\b", path.read_text(encoding="utf-8"), re.M), name


VERSION = re.compile(r"\(3, ?(?:[89]|1\d)\)")
"""A version that code compares with, or keeps as a key."""
WRITTEN = re.compile(r"3\.15|3\.8 to 3")
"""A document that says which versions there are."""
ONCE = {"changelog.md", "scoreboard.md", "cpython_316.md"}
"""Pages of a date, which stay as they are."""


def test_every_place_that_knows_versions_is_in_the_index_of_changes():
    """Where code compares versions, and where a document names the newest, a new Python may need a change."""
    (entry,) = re.findall(
        r"^- \*\*A new Python version\.\*\*.*?(?=^- \*\*)", section("Index: change -> places"), re.M | re.S
    )
    named = {name.rpartition("/")[2] for name in re.findall(r"[\w./]+\.(?:py|md|toml|yml)", entry)}
    knowing = {
        path.name
        for path in SOURCE.rglob("*.py")
        if "versions" not in path.parts and VERSION.search(_without_docstrings(path.read_text(encoding="utf-8")))
    }
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "pyproject.toml", *(ROOT / "docs").rglob("*.md")]
    saying = {path.name for path in pages if WRITTEN.search(path.read_text(encoding="utf-8"))} - ONCE
    tools = {
        path.name
        for path in (ROOT / "tools").rglob("*.py")
        if re.search(r"\"3\.15\"|3\.15\b.*3\.14|\(3, 15\)", path.read_text(encoding="utf-8"))
    }
    assert knowing and saying and tools
    assert sorted((knowing | saying | tools) - named) == []


def _without_docstrings(text: str) -> str:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            for stmt in body:
                if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant):
                    stmt.value = ast.Constant(None)
    return ast.unparse(tree)


def test_every_tool_is_in_the_index_of_tools():
    named = set(
        re.findall(r"[\w.]+", " ".join(in_code_spans((ROOT / "tools" / "README.md").read_text(encoding="utf-8"))))
    )
    there = set(_tools(ROOT / "tools")) - {"README.md"}
    assert sorted(there - named) == []
    assert sorted(name for name in named if name.endswith(".py") and name not in there | {"__init__.py"}) == []


def _tools(folder: Path) -> Iterator[str]:
    """The files below a folder, and the packages that are one tool, by their names."""
    for path in folder.iterdir():
        if path.is_dir() and not (path / "__init__.py").exists():
            yield from _tools(path) if path.name != "__pycache__" else ()
        elif path.name != "__init__.py" and path.name[0] != ".":
            yield path.name


def test_rungs_in_the_architecture_are_those_of_the_driver():
    from depyf.decompiler.driver.rungs import LADDER, Rung

    text = section("Three products")
    assert ", ".join(attempt.rung.name for attempt in LADDER) in text
    for name in re.findall(r"\b[A-Z]{4,}(?:_[A-Z]+)*\b", text):
        assert name in Rung.__members__ or name == "IDENTICAL", name


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the example shows the bytecode of 3.11")
@pytest.mark.parametrize("step", ["lower", "regions", "containers", "lift", "structure"])
def test_example_of_the_architecture_is_what_the_command_prints(step, capsys):
    """Shortened: its lines are lines of the output, in that order."""
    from depyf.cli import main

    assert main(["dump", f"{ROOT}/examples/first_positive.py:first_positive", "--after", step]) == 0
    printed = iter(capsys.readouterr().out.splitlines())
    (shown,) = blocks(ARCHITECTURE, f"after-{step}")
    for line in shown.splitlines():
        assert line in printed, f"after {step}, not in this place of the output: {line}"


def test_example_of_the_architecture_is_the_file_and_comes_back(capsys):
    from depyf.cli import main

    (source,) = [text for text in blocks(ARCHITECTURE, "python") if "first_positive" in text]
    assert source in (ROOT / "examples" / "first_positive.py").read_text(encoding="utf-8")
    assert main(["dump", f"{ROOT}/examples/first_positive.py:first_positive", "--after", "labels"]) == 0
    assert capsys.readouterr().out == source


def test_size_of_the_checker_is_the_one_told():
    """Within a twentieth: what it has to be trusted for is told in lines."""
    (told,) = re.findall(r"The checker has (\d+) lines", section("The proof"))
    lines = sum(
        len(path.read_text(encoding="utf-8").splitlines()) for path in (SOURCE / "decompiler/verify").rglob("*.py")
    )
    assert abs(int(told) - lines) <= lines / 20, f"it has {lines}"


def test_layers_in_the_architecture_are_those_of_the_test():
    from tests.unit.test_architecture import LAYERS

    rows = re.findall(r"^\| [\d, ]+ \|([^|]+)\|", section("Packages"), re.M)
    told = [
        {
            name.removeprefix("src/depyf/").rstrip("/").removesuffix(".py").replace("/", ".")
            for name in re.findall(r"`([^`]+)`", row)
        }
        for row in rows
    ]
    order = {name: depth for depth, names in enumerate(told) for name in names}
    assert set(order) | {"__main__"} == {name for names in LAYERS for name in names}
    layer = {name: depth for depth, names in enumerate(LAYERS) for name in names}
    for one, other in ((one, other) for one in order for other in order):
        if layer[one] < layer[other]:
            assert order[one] <= order[other], f"{one} comes before {other}"
