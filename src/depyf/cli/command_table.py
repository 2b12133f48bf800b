"""The commands of ``depyf``: the name of each, what it is for, and where its arguments and its work are.

A module is imported when its command runs: ``depyf --help`` needs none of them.  Each has ``add_NAME(parser)``, which
adds the arguments, and ``run_NAME(options)``, which returns the exit status.
"""

from __future__ import annotations

import argparse
import enum
import importlib
from dataclasses import dataclass
from types import ModuleType


class Group(enum.Enum):
    """The headings of ``depyf --help``."""

    TORCH = "torch.compile"
    BYTECODE = "bytecode"


@dataclass(frozen=True, slots=True)
class Command:
    """A command of ``depyf``."""

    name: str
    about: str
    """One line."""
    module: str
    """Below ``depyf.cli``."""
    group: Group = Group.TORCH
    dumps: tuple[str, ...] = ()
    """Which of its arguments are folders of dumps, or logs that a dump is made of first."""
    logs: tuple[str, ...] = ()
    """Which are logs that it reads itself."""
    other_name: str = ""
    """A name that it had."""
    waits_for: str = ""
    """What takes its time before it says anything."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Describe the command line."""
        getattr(self._module(), f"add_{self.name}")(parser)

    def run(self, options: argparse.Namespace) -> int:
        """Run the command; returns the exit status.  The caller handles DepyfError and OSError."""
        return int(getattr(self._module(), f"run_{self.name}")(options))

    def _module(self) -> ModuleType:
        return importlib.import_module(f"depyf.cli.{self.module}")


COMMANDS: tuple[Command, ...] = (
    Command("doctor", "what to fix in a program first, and whether it helps", "programs.doctor", logs=("program",)),
    Command("run", "a program, with what torch.compile does in it dumped", "programs.run_command"),
    Command(
        "report",
        "one HTML page of a dump, which opens offline",
        "report_command",
        dumps=("folder", "other"),
        waits_for="reading the dump and writing the page",
    ),
    Command("check", "whether a program keeps its budget of breaks, ...", "programs.check_command"),
    Command(
        "diff", "what differs between two dumps", "diff_and_merge", dumps=("first", "second"), waits_for="comparing"
    ),
    Command(
        "merge",
        "where the ranks of a distributed run diverge",
        "diff_and_merge",
        dumps=("folder",),
        waits_for="comparing the ranks",
    ),
    Command(
        "open",
        "what is in a file or log of torch, without loading it",
        "from_dumps.open_command",
        logs=("path",),
        waits_for="reading",
    ),
    Command("index", "the pages of a run that was killed, or goes on", "index_command", logs=("folder",)),
    Command(
        "show",
        "records of a log of torch, as torch wrote them",
        "from_dumps.show_record",
        logs=("path",),
        waits_for="reading the log",
    ),
    Command("attach", "what torch.compile does in a process that runs", "programs.attach_command"),
    Command(
        "gallery",
        "each graph as a script that checks itself",
        "from_dumps.gallery_command",
        dumps=("folder",),
        waits_for="writing a script for each graph",
    ),
    Command(
        "repro",
        "one graph as a script for a bug report",
        "from_dumps.repro_command",
        dumps=("folder",),
        waits_for="writing the script",
    ),
    Command(
        "export",
        "a compiled function as a separate package",
        "from_dumps.export_command",
        dumps=("folder",),
        waits_for="writing the package",
    ),
    Command(
        "join",
        "a profile of torch with the lines of the program",
        "from_dumps.join_command",
        waits_for="reading the profile",
    ),
    Command("decompile", "bytecode to proven Python source", "on_bytecode.decompile_command", Group.BYTECODE),
    Command("disasm", "normalised instructions beside the source", "on_bytecode.disasm", Group.BYTECODE),
    Command(
        "passes",
        "what each pass of the decompiler makes",
        "on_bytecode.passes_command",
        Group.BYTECODE,
        other_name="dump",
    ),
)
"""In the order of ``depyf --help``: those first that people use first."""


def command_named(name: str) -> Command | None:
    """The command with this name or former name; None for none."""
    return next((command for command in COMMANDS if name and name in (command.name, command.other_name)), None)
