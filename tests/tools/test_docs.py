"""``make docs`` and ``make tutorials``: links that lead nowhere are found, commands are read and their output is tidied."""

from __future__ import annotations

import shlex
import sys
import sysconfig
import tempfile
from pathlib import Path

import pytest

from tools.docs import docs_outputs, sphinx_depyf
from tools.docs.docs import broken_links
from tools.docs.docs_outputs import Shell, comparable, shell_of, tidy


def test_links_that_lead_nowhere_are_found(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "index.html").write_text(
        '<a href="sub/page.html#there">good</a> <a href="sub/page.html#gone">bad</a> <a href="sub/">bad</a>'
        '<img src="none.png"> <a href="https://example.org/x">outside</a> <a href="#me" id="me">good</a>'
    )
    (tmp_path / "sub" / "page.html").write_text('<h1 id="there"></h1><a href="../index.html">good</a>')
    assert broken_links(tmp_path) == [
        "index.html: sub/page.html#gone",
        "index.html: sub/",
        "index.html: none.png",
    ]


def test_a_block_is_a_command_its_options_and_what_is_typed() -> None:
    assert shell_of([":status: 1", ":from: x", "depyf run a.py"]) == Shell("depyf run a.py", (), 1)
    assert shell_of([":terminal:", "python a.py", "b 3", "c"]) == Shell("python a.py", ("b 3", "c"), 0, True)


def test_commands_have_no_settings_of_who_runs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = (
        "PYTHONUNBUFFERED",
        "PYTHONWARNINGS",
        "PYTHONOPTIMIZE",
        "TORCH_LOGS",
        "TORCHDYNAMO_DISABLE",
        "DEPYF_NO_PAUSE",
    )
    for name in settings:
        monkeypatch.delenv(name, raising=False)
    without = docs_outputs.settings()
    for name in settings:
        monkeypatch.setenv(name, "0")
    assert docs_outputs.settings() == without and without["PYTHONUNBUFFERED"] == "1"


def test_what_is_printed_stands_where_it_was_printed(tmp_path: Path) -> None:
    command = f"{shlex.quote(sys.executable)} -c \"import sys; print('a'); print('b', file=sys.stderr); print('c')\""
    assert docs_outputs.run(Shell(command), tmp_path, docs_outputs.settings()) == "a\nb\nc\n"


def test_output_is_that_of_any_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/tmp")
    text = f'W1124 18:40:18.985000 4101 torch/_dynamo/a.py:9] x\n{tmp_path}/a.py:1 File "/usr/lib/python3.11/bdb.py" /x/.venv/lib/python3.11/site-packages/torch/nn/a.py /tmp/depyf-ab12cd34/b'
    assert tidy(text, tmp_path) == '/home/me/proj/a.py:1 File ".../bdb.py" .../torch/nn/a.py /tmp/depyf-1a2b3c4d/b'
    elsewhere = tmp_path / "a folder of its own"
    monkeypatch.setattr(tempfile, "tempdir", str(elsewhere))
    installed = f"{sysconfig.get_path('purelib')}/torch/a.py {sysconfig.get_path('stdlib')}/bdb.py"
    assert (
        tidy(f"{elsewhere}/depyf-ab12cd34/b {installed}", tmp_path / "x")
        == "/tmp/depyf-1a2b3c4d/b .../torch/a.py .../bdb.py"
    )
    one, other = ([{"command": "c", "lines": [f"{seconds} s, 3 graphs"]}] for seconds in ("1.25", "30"))
    assert comparable(one) == comparable(other)


def test_a_part_of_an_output_is_found_or_an_error() -> None:
    lines = ["a", "b", "c", "d"]
    assert sphinx_depyf.part_of(lines, {"from": "b", "to": "c"}, "x") == ["[...]", "b", "c", "[...]"]
    assert sphinx_depyf.part_of(lines, {"lines": "4"}, "x") == lines
    with pytest.raises(ValueError, match="no line holds 'z'"):
        sphinx_depyf.part_of(lines, {"from": "z"}, "x")


def test_every_command_is_in_the_reference() -> None:
    page = (sphinx_depyf.ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    assert [name for name in sphinx_depyf.commands() if f"{{command-line}} {name}\n" not in page] == []
