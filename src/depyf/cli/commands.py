"""The command line as a whole: which command is meant, and what an error of it becomes.

Input: arguments.  Output: an exit status, and at most one line about an error.  Only the module of the command that
runs is imported.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Sequence
from typing import Any

import depyf
from depyf.cli.command_table import COMMANDS, Command, Group, command_named
from depyf.cli.exit_status import INTERRUPTED, ExitStatus
from depyf.cli.help_layout import Parser
from depyf.cli.input_errors import InputError, UsageError
from depyf.cli.output import OutputError, complain, give_up_output, standard_streams, writing_output
from depyf.cli.waiting import waiting
from depyf.errors import DepyfError

_ABOUT = "Open the opaque box of torch.compile; decompile Python bytecode, and prove the result."
_NAMES = max(len(command.name) for command in COMMANDS)
_EXAMPLES = """\
examples:
  depyf doctor --try train.py --epochs 1        what to fix first, and whether it helps
  depyf run --out dump train.py --epochs 1      a dump of all that torch.compile does in it
  depyf report dump                             the page of that dump; of logs of TORCH_TRACE, too
  depyf decompile module.pyc                    source on standard output, verdicts on standard error
  depyf decompile json:JSONDecoder.decode       a live function

'depyf COMMAND --help' says more, with examples.
"""
_PROGRAMS = (".py", ".pyc")


class _Version(argparse.Action):
    """Which depyf this is, how it was built and what it runs on; torch is not imported for it."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from depyf.native import build

        python = ".".join(map(str, sys.implementation.version[:3]))
        print(f"depyf {depyf.__version__} (Python {python}, {_torch()}, {build()})")
        parser.exit()


def _torch() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"torch {version('torch')}"
    except PackageNotFoundError:
        return "no torch"


class _Completion(argparse.Action):
    """``eval "$(depyf --completion bash)"``: the parser as a script of the shell, made by shtab."""

    def __call__(self, parser: argparse.ArgumentParser, _: Any, shell: Any, __: Any = None) -> None:
        try:
            import shtab
        except ImportError:
            parser.error("completion needs shtab: pip install 'depyf[cli]'")
        if shell not in shtab.SUPPORTED_SHELLS:
            parser.error(f"--completion {shell}: {', '.join(shtab.SUPPORTED_SHELLS)} are known")
        with writing_output():
            print(shtab.complete(parser, shell))
        parser.exit()


def build_parser(filled: Sequence[Command] = COMMANDS) -> argparse.ArgumentParser:
    """The parser, with the arguments of the commands ``filled`` only: those of others cost imports."""
    parser = Parser(
        prog="depyf",
        usage="depyf [-h] [--version] COMMAND ...",
        description=f"{_ABOUT}\n\n{_listed()}",
        epilog=_EXAMPLES,
    )
    parser.add_argument(
        "--version",
        action=_Version,
        nargs=0,
        help="depyf, Python, torch, and which build it is (compiled or pure), and exit",
    )
    parser.add_argument(
        "--completion",
        action=_Completion,
        metavar="SHELL",
        help="a script that completes commands in bash, zsh, fish, tcsh or powershell",
    )
    commands = parser.add_subparsers(prog="depyf", dest="command", metavar="COMMAND")
    for command in COMMANDS:
        one = commands.add_parser(command.name, help=command.about, description=command.about)
        if command in filled:
            command.add_arguments(one)
    return parser


def _listed() -> str:
    """The commands below their headings."""
    lines = []
    for group in Group:
        of_group = [command for command in COMMANDS if command.group is group]
        lines += [f"{group.value}:", *(f"  {one.name:<{_NAMES}}  {one.about}" for one in of_group), ""]
    return "\n".join(lines[:-1])


def run(argv: Sequence[str] | None) -> int:
    """Parse and dispatch; errors become one line on standard error."""
    given = sys.argv[1:] if argv is None else list(argv)
    try:
        if given[:1] == ["run"]:
            return _dispatch(given)  # the program sees the streams as they are
        with standard_streams():
            return _to_the_end(given)
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    except OSError as error:
        complain(f"{error.strerror or error}" + (f": {error.filename}" if error.filename else ""))
        return ExitStatus.UNREADABLE


def _to_the_end(given: list[str]) -> int:
    """What is written reaches its reader, or it is said why not."""
    try:
        try:
            return _dispatch(given)
        finally:  # the parser leaves by SystemExit: --help
            with writing_output():
                sys.stdout.flush()
    except BrokenPipeError:  # the reader went away (`| head`): not an error of depyf
        give_up_output()
        return ExitStatus.FAILED
    except OutputError as error:
        complain(f"standard output cannot be written: {error.strerror or error}")
        give_up_output()
        return ExitStatus.UNREADABLE


def _dispatch(argv: list[str]) -> int:
    first = argv[0] if argv else ""
    command = command_named(first)
    if command is None and first and not first.startswith("-"):
        complain(f"there is no command {first}{_meant(first)}; depyf --help lists them")
        return ExitStatus.USAGE
    if command is None:
        parser = build_parser(COMMANDS if any(one.startswith("--comp") for one in argv) else ())
        parser.parse_args(argv)
        parser.print_help(sys.stderr)
        return ExitStatus.USAGE
    parser = build_parser((command,))
    options, unknown = parser.parse_known_args([command.name, *argv[1:]])
    if unknown:
        complain(_not_taken(command, unknown[0]))
        return ExitStatus.USAGE
    try:
        return _run(command, options)
    except DepyfError as error:
        complain(error)
        return _status_of(error)
    except OSError:
        raise
    except Exception as error:
        complain(f"internal error, please report it: {type(error).__name__}: {error}")
        return ExitStatus.FAILED


def _meant(name: str) -> str:
    """What was most likely meant."""
    near = difflib.get_close_matches(name, [command.name for command in COMMANDS], 2)
    if near:
        return f": did you mean {' or '.join(near)}?"
    if name.endswith(_PROGRAMS):
        return f": did you mean depyf {'doctor' if name.endswith('.py') else 'decompile'} {name}?"
    return ""


def _not_taken(command: Command, argument: str) -> str:
    """What to say of an argument that a command has no place for."""
    if not argument.startswith("-"):
        return f"{command.name} takes no further argument: {argument}; depyf {command.name} --help lists them"
    parser = Parser()
    command.add_arguments(parser)
    options = [option for action in parser._actions for option in action.option_strings]
    near = difflib.get_close_matches(argument.partition("=")[0], options, 2)
    meant = f": did you mean {' or '.join(near)}?" if near else ""
    return f"{command.name} has no option {argument}{meant}; depyf {command.name} --help lists them"


def _run(command: Command, options: argparse.Namespace) -> int:
    with waiting(command.waits_for and f"{command.name}: {command.waits_for}", sys.stderr):
        return _run_at_hand(command, options)


def _run_at_hand(command: Command, options: argparse.Namespace) -> int:
    """Run it, with what it names in other places or other forms brought first."""
    if not command.dumps and not command.logs:
        return command.run(options)
    from depyf.cli.from_dumps.log_argument import logs_as_dumps
    from depyf.cli.from_dumps.remote_logs import logs_at_hand
    from depyf.cli.index_command import completed

    with logs_at_hand(options, command.dumps + command.logs), logs_as_dumps(options, command.dumps):
        completed(*(getattr(options, name) for name in command.dumps))
        return command.run(options)


def _status_of(error: DepyfError) -> ExitStatus:
    from depyf.run.files.reading import DumpError

    if isinstance(error, UsageError):
        return ExitStatus.USAGE
    return ExitStatus.UNREADABLE if isinstance(error, (InputError, DumpError)) else ExitStatus.FAILED
