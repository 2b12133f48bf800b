"""The table of commands, what is imported for one, its help in narrow terminals, and names that are no command."""

from __future__ import annotations

import argparse
import subprocess
import sys

import pytest

from depyf.cli import main
from depyf.cli.command_table import COMMANDS, Group, command_named
from depyf.cli.commands import build_parser
from depyf.cli.exit_status import ExitStatus
from depyf.cli.help_layout import fitted


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_each_command_has_arguments_and_work(command) -> None:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    names = {action.dest for action in parser._actions}
    assert names >= {*command.dumps, *command.logs}
    assert callable(getattr(command._module(), f"run_{command.name}"))


def test_help_is_in_two_groups_torch_first(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = capsys.readouterr().out
    assert shown.index(f"\n{Group.TORCH.value}:\n") < shown.index(f"\n{Group.BYTECODE.value}:\n")
    for command in COMMANDS:
        (line,) = [line for line in shown.split("\n") if line.startswith(f"  {command.name} ")]
        assert line.endswith(command.about) and len(line) <= 80


@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize("command", ["", *(command.name for command in COMMANDS)])
def test_help_fits_the_terminal(command, columns, monkeypatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    with pytest.raises(SystemExit):
        main([command, "--help"] if command else ["--help"])
    long = [line for line in capsys.readouterr().out.split("\n") if len(line) > columns]
    assert all(line.lstrip().startswith(("[--", "--")) for line in long), "only an option with its values is longer"


def test_lines_that_go_on() -> None:
    assert fitted("  a b", 60) == ["  a b"]
    assert fitted("  0    it is the same", 14) == ["  0    it is", "       the", "       same"]
    assert fitted("  depyf run x.py    a remark of it", 20) == ["  depyf run x.py", "      a remark of it"]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("docter", "doctor"), ("reports", "report"), ("decompil", "decompile"), ("chek", "check"), ("a.py", "doctor a.py"),
     ("a.pyc", "decompile a.pyc")],
)  # fmt: skip
def test_a_typo_is_answered_with_the_nearest_command(typed, meant, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([typed, "x"]) == ExitStatus.USAGE
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and typed in said and f"did you mean {'depyf ' if '.' in meant else ''}{meant}" in said


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["doctor", "--tri", "a.py"], "depyf: doctor has no option --tri: did you mean --try"),
        (["report", "--zzz", "a"], "depyf: report has no option --zzz; depyf report --help lists them"),
        (["merge", "--outptu=x", "a"], "depyf: merge has no option --outptu=x"),
        (["index", "a", "b"], "depyf: index takes no further argument: b"),
    ],
)  # fmt: skip
def test_an_argument_that_a_command_does_not_take(typed, said, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(typed) == ExitStatus.USAGE
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_every_command_takes_its_output_by_one_letter() -> None:
    for command in COMMANDS:
        parser = argparse.ArgumentParser()
        command.add_arguments(parser)
        for action in parser._actions:
            if {"--out", "--output"} & {*action.option_strings}:
                assert "-o" in action.option_strings, command.name


def test_nothing_is_like_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["zzz"]) == ExitStatus.USAGE
    assert "did you mean" not in capsys.readouterr().err


def test_a_name_that_a_command_had() -> None:
    assert command_named("dump") is command_named("passes") and command_named("") is None
    names = [name for command in COMMANDS for name in (command.name, command.other_name) if name]
    assert len(names) == len({*names})


def test_the_whole_parser_has_all() -> None:
    (commands,) = [one for one in build_parser()._actions if isinstance(one, argparse._SubParsersAction)]
    assert list(commands.choices) == [command.name for command in COMMANDS]
    assert all(len(parser._actions) > 1 for parser in commands.choices.values())


@pytest.mark.parametrize("arguments", [["--help"], ["zzz"], ["join", "--help"]])
def test_only_what_runs_is_imported(arguments) -> None:
    program = (
        "import sys\nfrom depyf.cli import main\n"
        f"try:\n    main({arguments!r})\nexcept SystemExit:\n    pass\n"
        "print(*(name for name in sys.modules if name.startswith('depyf')), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=True)
    names = set(done.stderr.split("\n")[-2].split())
    rooms = {name.split(".")[1] for name in names if "." in name}
    if "join" in arguments:
        assert {name for name in names if name.startswith("depyf.cli.from_dumps.")} == {
            "depyf.cli.from_dumps.join_command"
        }
    else:
        assert rooms == {"cli", "safety", "errors"} and not any(name.count(".") > 2 for name in names)
