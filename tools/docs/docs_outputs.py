"""``make tutorials``: run the commands of the documentation, in order, and keep what they print for the site.

python -m tools.docs.docs_outputs [PAGE ...]        default: every page below docs/ with a ``{shell}`` block

A page's commands run in one new folder that holds a copy of ``examples/tutorials``, as a reader would type them:

    ```{shell}                    options, before the command:
    :status: 1                    the exit status it has to end with (0)
    :again:                       it was run above: another part of what it printed
    :terminal:                    it runs in a terminal; the lines after the first are typed at its (Pdb) prompts
    depyf run --out dump toy.py
    ```

What they print goes to ``docs/outputs/PAGE.json``.  A run that prints the same but for what is measured leaves the file as it is.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tools import ROOT

DOCS = ROOT / "docs"
PROGRAMS = ROOT / "examples" / "tutorials"
_BLOCK = re.compile(r"^```\{shell\}\n((?:.*\n)*?)```$", re.M)
_OPTION = re.compile(r":([a-z-]+):\s*(.*)")
_MEASURED = re.compile(
    r"\d+(?:\.\d+)?(?= (?:us|ms|s|min|kB)\b)|\d+\.\d+|(?<=num_threads=)\d+|(?<=Python )\d[\d.]*| {2,}"
)
"""Seconds, sizes, what a processor's arithmetic decides, and how columns are filled."""
_OF_A_LINE = re.compile(r" +\d+ us for those of ")
"""What the guards of a line take: whether that is worth a word is measured, too."""
_OWN_LINE = re.compile(r'(\.\.\./depyf/[\w/]+\.py\\", line )\d+')
"""A line of ours in a traceback: it moves with every change of its file."""
_LOG = re.compile(r"[VIWE]\d{4} \d\d:.*")
"""A line of torch's own log, with the time and the number of the process."""
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
OWN = ("PYTHON", "DEPYF_", "TORCH_", "TORCHDYNAMO_", "AOT_")
"""Settings of whoever runs this tool, by their first letters: the commands have none of them.  Files 1 and 2 are one file: unbuffered,
as in a terminal, what is printed stands where it was printed."""
HOME = "/home/me/proj"
"""Where the pages say that the programs are."""


@dataclass(frozen=True)
class Shell:
    """One block: a command, what is typed while it runs, and how it has to end."""

    command: str
    typed: tuple[str, ...] = ()
    status: int = 0
    terminal: bool = False
    again: bool = False


def shell_of(lines: list[str]) -> Shell:
    """The block of these lines; options that say how it is shown are left to the site."""
    options = {}
    while lines and (match := _OPTION.fullmatch(lines[0].strip())):
        options[match[1]] = match[2]
        lines = lines[1:]
    command, *typed = [line for line in lines if line.strip()]
    return Shell(command, tuple(typed), int(options.get("status", "0")), "terminal" in options, "again" in options)


def shells(page: Path) -> list[Shell]:
    """The blocks of a page, in order."""
    return [shell_of(text.splitlines()) for text in _BLOCK.findall(page.read_text(encoding="utf-8"))]


def pages() -> list[Path]:
    """The pages that have such blocks."""
    return [page for page in sorted(DOCS.rglob("*.md")) if shells(page)]


def outputs_file(page: Path) -> Path:
    return DOCS / "outputs" / (page.relative_to(DOCS).with_suffix("").as_posix().replace("/", "_") + ".json")


def settings() -> dict[str, str]:
    """The environment of the commands, but for what lies in the page's folder."""
    asked = {name: value for name, value in os.environ.items() if not name.startswith(OWN)}
    return asked | {
        "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1",
    }  # fmt: skip


def run_page(page: Path, python: str = sys.executable) -> list[dict[str, object]]:
    """The blocks of ``page`` with the lines that each printed.  RuntimeError where one ends otherwise than it should.

    ``python`` is what the commands are run with."""
    with tempfile.TemporaryDirectory(prefix="depyf-docs-") as name:
        top = Path(name).resolve()
        folder = top / "proj"
        shutil.copytree(PROGRAMS, folder, ignore=shutil.ignore_patterns("__pycache__"))
        commands = top / "bin"
        commands.mkdir()
        for command, runs in (("depyf", f'"{python}" -m depyf'), ("python", f'"{python}"')):
            (commands / command).write_text(f'#!/bin/sh\nexec {runs} "$@"\n')
            (commands / command).chmod(0o755)
        environment = settings() | {
            "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}", "TORCHINDUCTOR_CACHE_DIR": str(top / "cache"),
        }  # fmt: skip
        blocks: list[dict[str, object]] = []
        for shell in shells(page):
            if shell.again:
                lines = next(block["lines"] for block in reversed(blocks) if block["command"] == shell.command)
            else:
                lines = tidy(run(shell, folder, environment), folder).splitlines()
            blocks.append({"command": shell.command, "lines": lines})
        return blocks


def run(shell: Shell, folder: Path, environment: dict[str, str]) -> str:
    if shell.terminal:
        text, status = in_terminal(shell, folder, environment)
    else:
        done = subprocess.run(
            shell.command, shell=True, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        text, status = done.stdout, done.returncode
    if status != shell.status:
        raise RuntimeError(f"{shell.command}: exit status {status}\n{text}")
    return text


def in_terminal(shell: Shell, folder: Path, environment: dict[str, str]) -> tuple[str, int]:
    import pexpect

    child = pexpect.spawn(
        "/bin/sh", ["-c", shell.command], cwd=str(folder), env=environment, encoding="utf-8", timeout=300, dimensions=(50, 160)
    )  # fmt: skip
    shown = ""
    for line in shell.typed:
        if child.expect_exact(["(Pdb) ", pexpect.EOF]):
            raise RuntimeError(f"{shell.command}: ended before {line!r} was typed\n{shown}{child.before}")
        shown += child.before + "(Pdb) "
        child.sendline(line)
    child.expect(pexpect.EOF)
    child.close()
    return _COLOUR.sub("", shown + child.before).replace("\r", ""), child.exitstatus or 0


def tidy(text: str, folder: Path) -> str:
    """Without what belongs to this machine: where the programs, Python and torch are; without torch's own log."""
    text = "".join(line for line in text.splitlines(keepends=True) if not _LOG.match(line))
    text = text.replace(str(folder), HOME).replace(str(folder.parent / "cache"), "/tmp/torchinductor_me")
    for place in (
        str(ROOT / "src"),
        *(sysconfig.get_path(name) for name in ("platlib", "purelib", "platstdlib", "stdlib")),
    ):
        text = text.replace(f"{place}/", ".../")
    text = re.sub(re.escape(os.path.join(tempfile.gettempdir(), "depyf-")) + r"\w{8}", "/tmp/depyf-1a2b3c4d", text)
    return re.sub(r"/[\w./+-]*/(?:site-packages|lib/python3\.\d+)/", ".../", text)


def comparable(blocks: list[dict[str, object]]) -> str:
    """What two runs have in common on any machine: not what is measured, and no kernels, which are written for the processor."""
    kept = [
        {**block, "lines": [line for line in block["lines"] if not _OF_A_LINE.match(line)]}
        for block in blocks
        if ".kernel_" not in str(block["command"])
    ]
    text = json.dumps(kept)
    return _MEASURED.sub("N", _OWN_LINE.sub(r"\1N", text))


def main() -> int:
    for page in [Path(name).resolve() for name in sys.argv[1:]] or pages():
        file, blocks = outputs_file(page), run_page(page)
        same = file.is_file() and comparable(json.loads(file.read_text(encoding="utf-8"))) == comparable(blocks)
        if not same:
            file.parent.mkdir(exist_ok=True)
            file.write_text(json.dumps(blocks, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"{page.relative_to(ROOT)}: {len(blocks)} commands, {'as before' if same else 'written'}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
