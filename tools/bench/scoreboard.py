"""Decompilers beside each other on sets of files that others made: what is right, what fails openly, what is silently wrong.

    python -m tools.bench.scoreboard [--files 200] [--pylingual CLONE] [--page docs/explanation/scoreboard.md]

Every tool is run as a program, in an environment of its own (``tools/bench/peers.py``).  A text is *equal* where every code object that
comes of it is proven the same as the one in the file, *a plain failure* where there is none, where it does not compile, or where
the tool says by its exit status or in a comment that something is missing; *silently wrong* where it compiles, says nothing, and our
bisimulation finds a difference; *undecided* where it neither proves nor finds one.  What is silently wrong in a generated file is
run beside the original.  Results are kept in ``.cache/scoreboard``: a run that is broken off goes on where it was.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools import ROOT
from tools.bench import peers
from tools.env import interpreters

HOME = ROOT / ".cache" / "scoreboard"
LIMIT = 120
"""Seconds that a tool may take for one file."""
PYLINGUAL = "https://github.com/syssec-utd/pylingual", "e33471f76ecf5b087691e190f759b76cabca6c37"
"""Its evaluation files (first version): 4 949 to 4 990 files of PyPI for each of 3.6 to 3.12."""
GENERATOR = "pychd-pyfuzz==0.1.0"
PYCHD = "pychd==1.3.0", "xdis==6.1.7"
"""With later versions of xdis it fails for every file."""
NO_MODEL = "completion = token_counter = get_model_info = None\n"
"""Stands in for litellm, which it imports and, with --rules-only, does not call."""
LARGEST = 1 << 15
"""Larger sources are left out: the tools take minutes for some."""
ADMITS = re.compile(
    r"(?i)\b(?:incomplete|errors?|unsupported|unable|could not|cannot|fail\w*|not supported|fixme|todo|warning|unverified|unrecover\w*)\b"
)
"""In a comment, what says that something is missing: there are no comments in bytecode, all are the tool's."""
_COMMENT = re.compile(r"(?m)^\s*(?:pass\s*)?(#.*|\.\.\..*)$")


@dataclass(frozen=True)
class Set:
    """Sources of one kind, compiled by one version; ``runs``: they may be executed."""

    name: str
    version: str
    runs: bool = False


SETS = (
    Set("PyLingual, 3.8", "3.8"),
    Set("PyLingual, 3.12", "3.12"),
    Set("pychd-pyfuzz, 3.12", "3.12", runs=True),
)
OURS, WITHOUT_MODEL = "depyf, this commit", "pychd, rules only"
TOOLS = {
    "3.8": (OURS, "pycdecompile", "depyo", "uncompyle6", "decompyle3"),
    "3.12": (OURS, "pycdecompile", "depyo", WITHOUT_MODEL),
}
INTO_FOLDER = ("uncompyle6", "decompyle3")
"""What these print is mixed with notes on their work."""
STATUSES = ("equal", "plain failure", "silently wrong", "undecided")


# Files


def sources(which: Set, count: int, clone: Path | None) -> tuple[list[tuple[str, bytes]], str]:
    """Names and texts of the sources of a set, and why there are none."""
    if which.runs:
        return generated(which, count)
    if clone is None:
        return [], f"name a clone of {PYLINGUAL[0]} with --pylingual"
    folder = f"evaluation/test_files/python-{which.version}"
    listing = git(clone, "ls-tree", "-r", "-l", PYLINGUAL[1], folder).decode().splitlines()
    names = []
    for line in listing:
        _, _, blob, size, name = line.split(None, 4)
        if name.endswith(".py") and int(size) <= LARGEST:
            names.append((name.removeprefix(f"{folder}/"), blob))
    chosen = [names[i * len(names) // count] for i in range(min(count, len(names)))]
    return [(name, git(clone, "cat-file", "blob", blob)) for name, blob in chosen], ""


def git(clone: Path, *words: str) -> bytes:
    return subprocess.run(["git", "-C", str(clone), *words], check=True, capture_output=True, timeout=LIMIT).stdout


def generated(which: Set, count: int) -> tuple[list[tuple[str, bytes]], str]:
    """Programs of pychd's generator, which needs Python 3.14: seed 0."""
    python, site = interpreters.find("3.14"), HOME / "pyfuzz"
    reason = installed((GENERATOR,), site)
    if python is None or reason:
        return [], reason or "no Python 3.14 on this machine"
    out = HOME / f"pyfuzz-{which.version}-{count}"
    command = [str(python), "-m", "pychd_pyfuzz.cli", "generate", "--target", which.version, "--count", str(count), "--seed", "0", "--out", str(out)]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True, timeout=600, env={**os.environ, "PYTHONPATH": str(site)})
    return [(path.name, path.read_bytes()) for path in sorted(out.glob("*.py"))[:count]], ""


def installed(packages: Sequence[str], target: Path) -> str:
    """``pip install`` packages for Python 3.14 into a folder of its own, once; the reason where that is impossible."""
    if (target / ".ready").exists():
        return ""
    words = [
        "install",
        "--quiet",
        "--python-version",
        "3.14",
        "--only-binary",
        ":all:",
        "--target",
        str(target),
        *packages,
    ]
    made = subprocess.run(
        [sys.executable, "-m", "pip", *words], capture_output=True, text=True, timeout=1800, check=False
    )
    if made.returncode:
        return next((line for line in made.stderr.splitlines() if "ERROR" in line), "pip fails")[:100]
    if packages == PYCHD:
        (target / "litellm.py").write_text(NO_MODEL)
    (target / ".ready").write_text("")
    return ""


def compiled(which: Set, found: list[tuple[str, bytes]], folder: Path) -> Iterator[tuple[str, Path]]:
    """A ``.pyc`` for each source that compiles; the file has no name of its own, so that nobody finds the source."""
    python = interpreters.find(which.version)
    assert python is not None
    program = "import py_compile, sys\nfor s, t in zip(sys.argv[1::2], sys.argv[2::2]):\n try: py_compile.compile(s, t, 'm.py', True)\n except Exception: pass"  # fmt: skip
    words: list[str] = []
    for number, (_, text) in enumerate(found):
        (folder / f"{number}.txt").write_bytes(text)
        words += [str(folder / f"{number}.txt"), str(folder / f"{number}.pyc")]
    subprocess.run([str(python), "-I", "-W", "ignore", "-c", program, *words], check=True, timeout=600)
    for number, (name, _) in enumerate(found):
        if (folder / f"{number}.pyc").exists():
            yield name, folder / f"{number}.pyc"


# Tools


def absent(tool: str) -> str:
    """Why a tool cannot be had."""
    if tool == OURS:
        return ""
    if tool == WITHOUT_MODEL:
        return (
            "no Python 3.14 on this machine" if interpreters.find("3.14") is None else installed(PYCHD, HOME / "pychd")
        )
    return peers.prepare(next(peer for peer in peers.PEERS if peer.name == tool))


def decompiled(tool: str, pyc: Path) -> tuple[int, str]:
    """Exit status and text of a tool for one file."""
    environment = dict(os.environ)
    with tempfile.TemporaryDirectory() as folder:
        if tool == OURS:
            environment["PYTHONPATH"] = str(ROOT / "src")
            argv = [sys.executable, "-m", "depyf", "decompile", "-q", "-j", "1", str(pyc)]
        elif tool == WITHOUT_MODEL:
            environment["PYTHONPATH"] = str(HOME / "pychd")
            code = "from pychd.main import main; main()"
            argv = [
                str(interpreters.find("3.14")),
                "-c",
                code,
                "decompile",
                "--rules-only",
                "-o",
                f"{folder}/out.py",
                str(pyc),
            ]
        else:
            options = ["-o", folder] if tool in INTO_FOLDER else []
            argv = next(peer for peer in peers.PEERS if peer.name == tool).argv(*options, str(pyc))
        try:
            made = subprocess.run(argv, capture_output=True, timeout=LIMIT, check=False, env=environment, cwd=folder)
        except subprocess.TimeoutExpired:
            return 124, ""
        written = next(Path(folder).glob("*.py"), None)
        return made.returncode, (written.read_bytes() if written else made.stdout).decode("utf-8", "replace")


def judged(status: int, text: str, pyc: Path) -> tuple[str, str]:
    """One of STATUSES, and why."""
    from depyf.decompiler.bytecode.files.pyc import read_pyc
    from depyf.decompiler.verify import Status, verify
    from depyf.decompiler.verify.recompiling.recompile import RecompileError, recompile
    from depyf.errors import DepyfError

    if not text.strip():
        return "plain failure", "no text" if status != 124 else "too slow"
    unit = read_pyc(pyc)
    try:
        found = verify(unit, recompile(text, unit.version).unit)
    except RecompileError as error:
        return "plain failure", f"does not compile: {error}"
    except (DepyfError, RecursionError) as error:
        return "undecided", str(error)
    doubts = [verdict for verdict in found if not verdict.proven and not verdict.reason.startswith("nested ")]
    if not doubts:
        return "equal", ""
    said = "by its exit status" if status else "in a comment" if any(map(ADMITS.search, _COMMENT.findall(text))) else ""
    if said:
        return "plain failure", f"says so {said}"
    wrong = [verdict for verdict in doubts if verdict.status is Status.WRONG]
    first = next((verdict for verdict in wrong if not of_docstring(verdict.reason)), (wrong or doubts)[0])
    return "silently wrong" if wrong else "undecided", f"{first.qualname}: {first.reason}"


def of_docstring(reason: str) -> bool:
    """Whether a difference is one of a docstring."""
    return "docstring" in reason or "__doc__" in reason


RUN = r'''
import contextlib, io, marshal, re, sys, types
def shown(value, depth=0):
    if depth < 3 and isinstance(value, (list, tuple, set, frozenset, dict)):
        items = value.items() if isinstance(value, dict) else value
        found = [shown(item, depth + 1) for item in items]
        return [type(value).__name__, sorted(map(str, found)) if isinstance(value, (set, frozenset)) else found]
    return re.sub(r"0x[0-9a-fA-F]+|line \d+", "", repr(value))[:300]
def tried(function, *args):
    try:
        return shown(function(*args))
    except BaseException as error:
        return [type(error).__name__, re.sub(r"0x[0-9a-fA-F]+", "", str(error))]
def called(value, out):
    for args in ((), (1,), (1, 2), (7, 2), ("a", [3]), ([1, 2], 0, 5)):
        out.append(tried(value, *args))
data = open(sys.argv[1], "rb").read()
code = marshal.loads(data[16:]) if sys.argv[1].endswith(".pyc") else compile(data, "m.py", "exec", dont_inherit=True)
space, out, printed = {"__name__": "m"}, [], io.StringIO()
with contextlib.redirect_stdout(printed):
    out.append(tried(exec, code, space))
    for name in sorted(name for name in space if not name.startswith("__")):
        value = space[name]
        out.append([name, type(value).__name__])
        if isinstance(value, types.FunctionType):
            called(value, out)
        elif isinstance(value, type) and value.__module__ == "m":
            for member in sorted(vars(value)):
                out.append([member, type(vars(value)[member]).__name__])
                if isinstance(vars(value)[member], types.FunctionType):
                    called(vars(value)[member], out)
        else:
            out.append(shown(value))
print(out, printed.getvalue())
'''  # fmt: skip


def differs_when_run(text: str, pyc: Path, version: str) -> bool:
    """Whether the text does something else than the file, as far as calling what it defines shows.  Executes both."""
    python = str(interpreters.find(version))
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder, "text.py")
        other.write_text(text, encoding="utf-8")
        outputs = []
        for path in (pyc, other):
            try:
                made = subprocess.run([python, "-I", "-W", "ignore", "-c", RUN, str(path)], capture_output=True, timeout=20, check=False, cwd=folder)  # fmt: skip
            except subprocess.TimeoutExpired:
                return False
            outputs.append(made.stdout)
        return outputs[0] != outputs[1]


def one(job: tuple[str, Set, str, Path]) -> dict[str, Any]:
    """What became of one file in one tool; kept on the disk."""
    tool, which, name, pyc = job
    digest = hashlib.sha256(pyc.read_bytes()[16:]).hexdigest()[:20]
    kept = HOME / "results" / f"{tool.replace(' ', '_')}-{which.version}-{digest}.json"
    if kept.exists():
        return dict(json.loads(kept.read_text()))
    status, text = decompiled(tool, pyc)
    verdict, reason = judged(status, text, pyc)
    ran = which.runs and verdict == "silently wrong" and differs_when_run(text, pyc, which.version)
    found = {"tool": tool, "set": which.name, "file": name, "verdict": verdict, "reason": reason[:300], "seen": ran}
    found["only docstrings"] = verdict == "silently wrong" and of_docstring(reason)
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(found))
    return found


# The page


def table(which: Set, rows: list[dict[str, Any]], missing: dict[str, str], files: int) -> Iterator[str]:
    """The results of one set, as Markdown."""
    yield f"## {which.name}: {files} files"
    yield ""
    yield "| tool | equal | plain failure | **silently wrong** | of these: in docstrings only | of these: seen when run | undecided |"
    yield "|---|---|---|---|---|---|---|"
    for tool in TOOLS[which.version]:
        if tool in missing:
            yield f"| {tool} | absent: {missing[tool]} | | | | | |"
            continue
        mine = [row for row in rows if row["tool"] == tool]
        counts = Counter(row["verdict"] for row in mine)
        seen = str(sum(row["seen"] for row in mine)) if which.runs else "not run"
        silent, docs = counts["silently wrong"], sum(row["only docstrings"] for row in mine)
        yield f"| {tool} | {counts['equal']} | {counts['plain failure']} | {silent} | {docs} | {seen} | {counts['undecided']} |"
    yield ""


def page(parts: list[str], count: int, notes: Iterable[str]) -> str:
    day = datetime.date.today().isoformat()
    head = f"""# Scoreboard

Written by `make scoreboard` on {day}: {count} files of each set, at most {LARGEST >> 10} KiB of source each, {LIMIT} seconds for a file.

Every tool gets the same `.pyc`, without its source, and is run as a program. Its text is

- **equal** where every code object that comes of it is proven the same as the one in the file;
- **a plain failure** where there is none, where it does not compile, or where the tool says that something is missing: by its exit status,
  or in a comment;
- **silently wrong** where it compiles, nothing is said, and our verifier finds a difference in what it does. Programs that were
  generated are run besides, with the original: each function is called with a few arguments;
- **undecided** where the verifier neither proves it nor finds a difference.

One function decides on its file; a decorator, an annotation or a docstring that is lost is a difference.
The verifier knows nothing of how a text was made ([what it assumes](proof.md)). For depyf's own texts it is the one that depyf uses: that
row says nothing about a mistake in it, which `make attack` looks for.
"""
    return (
        head
        + "\n"
        + "\n".join(parts)
        + "## What could not be had\n\n"
        + "".join(f"- {note}\n" for note in notes)
        + REPEAT
    )


REPEAT = f"""
## How to repeat it

```bash
git clone {PYLINGUAL[0]} .cache/pylingual
make scoreboard ARGS="--files 200 --pylingual .cache/pylingual"
```

The files are those of commit `{PYLINGUAL[1][:12]}`, evenly spread over its list; the programs are `{GENERATOR}` with seed 0.
Tools are installed by pip on the first run, each into an environment of its own under `.cache`, and only run as programs.
A reason for every file is in `.cache/scoreboard/results`.
"""
NOTES = (
    "PyLingual's second data set (github.com/syssec-utd/pylingual_eval_dataset, `.pyc` files of 3.6 to 3.15) is not used yet: where this page "
    "was made, the repository could not be fetched.",
    "PyLingual itself is not on PyPI, and works with models of several GB. pycdc is not on PyPI; pycdecompile is built from it.",
    "pychd fills what its rules leave open by a language model. None was there; without one it writes `pass` and a comment.",
    "depyf 0.20 reads functions of the running interpreter, no files: [speed](speed.md) has it.",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=200, help="of each set")
    parser.add_argument("--pylingual", type=Path, metavar="CLONE", help="a git repository with PyLingual's history")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "explanation" / "scoreboard.md")
    options = parser.parse_args()
    parts: list[str] = []
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(options.jobs) as pool:
        for number, which in enumerate(SETS):
            found, reason = sources(which, options.files, options.pylingual)
            if reason:
                parts += [f"## {which.name}", "", f"Absent: {reason}.", ""]
                continue
            place = Path(folder, str(number))
            place.mkdir()
            files = list(compiled(which, found, place))
            missing = {tool: reason for tool in TOOLS[which.version] if (reason := absent(tool))}
            jobs = [
                (tool, which, name, pyc) for name, pyc in files for tool in TOOLS[which.version] if tool not in missing
            ]
            rows = list(pool.map(one, jobs))
            lines = list(table(which, rows, missing, len(files)))
            print("\n".join(lines), flush=True)
            parts += lines
    options.page.write_text(page(parts, options.files, NOTES), encoding="utf-8")


if __name__ == "__main__":
    sys.setrecursionlimit(20000)
    main()
