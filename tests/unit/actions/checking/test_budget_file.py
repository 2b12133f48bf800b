"""A budget is read and written, and nothing else in its file is changed."""

from __future__ import annotations

import pytest

from depyf.actions.checking.budget_file import BudgetError, found_budget, read_budget, write_budget

PROJECT = """\
[project]
name = "x"

[tool.depyf.budget]  # kept by CI
# the loop in train.py needs one
graph_breaks = 1  # one
recompilations = 0

[tool.ruff]
line-length = 100
"""


def test_numbers_are_written_in_their_lines(tmp_path):
    path = tmp_path / "pyproject.toml"
    path.write_text(PROJECT)
    budget = read_budget(path)
    assert budget.limits == {"graph_breaks": 1, "recompilations": 0}
    write_budget(budget, {"graph_breaks": 0, "recompilations": 3, "graphs": 2})
    assert path.read_text() == PROJECT.replace("= 1  #", "= 0  #").replace(
        "recompilations = 0\n", "recompilations = 3\ngraphs = 2\n"
    )
    assert read_budget(path).limits == {"graph_breaks": 0, "recompilations": 3, "graphs": 2}


@pytest.mark.parametrize(("name", "head"), [("depyf.toml", "[budget]"), ("pyproject.toml", "[tool.depyf.budget]")])
def test_a_new_budget(name, head, tmp_path):
    path = tmp_path / name
    write_budget(read_budget(path), {"graphs": 2})
    assert path.read_text() == f"{head}\ngraphs = 2\n"
    path.write_text("[tool.x]\na = 1")
    write_budget(read_budget(path), {"graphs": 2})
    assert path.read_text() == f"[tool.x]\na = 1\n\n{head}\ngraphs = 2\n"


def test_what_is_not_written_in_lines_stays(tmp_path):
    path = tmp_path / "depyf.toml"
    for text in ("budget = {graphs = 1}\n", '[other]\ntext = """\n[budget]\ngraphs = 1\n"""\nbudget.graphs = 1\n'):
        path.write_text(text)
        if text.startswith("budget"):
            assert read_budget(path).limits == {"graphs": 1}
        with pytest.raises(BudgetError, match="change it by hand"):
            write_budget(read_budget(path), {"graphs": 2})
        assert path.read_text() == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[budget]\nbreaks = 1", "there is no breaks to limit: compilations, "),
        ("[budget]\ngraphs = -1", "graphs must be a number, 0 or more"),
        ("[budget]\ngraphs = true", "graphs must be a number"),
        ("budget = 3", "budget must be a table"),
        ("[budget", "is not TOML"),
    ],
)
def test_a_wrong_budget(text, said, tmp_path):
    path = tmp_path / "depyf.toml"
    path.write_text(text)
    with pytest.raises(BudgetError, match=said):
        read_budget(path)


def test_where_it_is_looked_for(tmp_path):
    assert not found_budget(None, tmp_path).there
    assert found_budget(None, tmp_path).path == tmp_path / "depyf.toml", "there it is written"
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    assert found_budget(None, tmp_path).path == tmp_path / "pyproject.toml"
    (tmp_path / "depyf.toml").write_text("[budget]\n")
    assert found_budget(None, tmp_path).path == tmp_path / "depyf.toml"
    assert found_budget(tmp_path / "pyproject.toml", tmp_path).limits["graph_breaks"] == 1
