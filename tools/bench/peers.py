"""The other decompilers beside this one: one table, measured in one run (``make bench``).

    python -m tools.bench.peers [--files 20]

Tools that pip can install go to environments of their own under ``.cache/peers`` (git-ignored), made on the first
run; one that cannot be had is named with the reason.  Every tool is run as a program, one file at a time, on the same
standard library files compiled by a version that it reads.  Printed: CPU seconds, as a multiple of what
``ast.unparse(ast.parse(source))`` takes for these files, too, start-up time taken off; the share of code objects that are right;
and how many right ones there are per CPU second.  Right means that the text compiles and that our verifier, which knows nothing
of how a text was made, proves the code object that comes of it the same as the one in the file; functions that do not compile are
left out of a text first, so that the others count.  Of this decompiler, whose time
includes its proof, there is a row for the pure build and one for the compiled one (``make compiled``).
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tools import ROOT
from tools.env import interpreters

HOME = ROOT / ".cache" / "peers"
LIMIT = 60
MENDED = 5000
"""How many functions, and lines outside of them, of one text may fail to compile: some tools print their own troubles there."""
HOST = f"{sys.version_info[0]}.{sys.version_info[1]}"
BUILDS = {"depyf, pure": sys.executable, "depyf, compiled": str(ROOT / ".venv-compiled" / "bin" / "python")}

PUBLISHED_DEPYF = """
import json, marshal, sys, types
import depyf
texts = {}
def visit(code, path):
    inner = [const for const in code.co_consts if isinstance(const, types.CodeType)]
    for at, const in enumerate(inner):
        if const.co_flags & 1 and not const.co_name.startswith("<"):
            try:
                texts["/".join(map(str, (*path, at)))] = depyf.decompile(const)
            except Exception:
                pass
        visit(const, (*path, at))
if len(sys.argv) > 1:
    visit(marshal.loads(open(sys.argv[1], "rb").read()[16:]), ())
    print(json.dumps(texts))
"""


@dataclass(frozen=True)
class Peer:
    """A tool: what pip installs, which version's files it gets, and its command for one file.

    With ``by_function`` it prints a text for each function, as JSON, by the places of code objects in the one around.
    ``absent`` says why it cannot be had at all.
    """

    name: str
    version: str
    install: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    by_function: bool = False
    absent: str = ""

    @property
    def home(self) -> Path:
        return HOME / self.name

    def argv(self, *rest: str) -> list[str]:
        return [*(word.replace("{bin}", str(self.home / "bin")) for word in self.command), *rest]


PEERS = (
    Peer("pycdecompile", HOST, ("pycdecompile",), ("{bin}/pycdecompile",)),
    Peer("depyo", HOST, ("depyo",), ("{bin}/depyo", "--out")),
    Peer("depyf 0.20.0", HOST, ("--no-deps", "depyf==0.20.0", "astor", "dill"), ("{bin}/python", "-c", PUBLISHED_DEPYF), True),
    Peer("uncompyle6", "3.8", ("uncompyle6",), ("{bin}/uncompyle6",)),
    Peer("decompyle3", "3.8", ("decompyle3",), ("{bin}/decompyle3",)),
    Peer("pycdc", HOST, absent="pip does not have it: it is built from its repository"),
    Peer("pylingual", "3.12", absent="not on PyPI; what it works with is a model of several GB from huggingface.co"),
)  # fmt: skip


def prepare(peer: Peer) -> str:
    """Install a peer if it is not there yet; the reason where that is impossible."""
    if peer.absent:
        return peer.absent
    ready, absent = peer.home / ".ready", peer.home / ".absent"
    if ready.exists() or absent.exists():
        return absent.read_text() if absent.exists() else ""
    shutil.rmtree(peer.home, ignore_errors=True)
    peer.home.mkdir(parents=True)
    python = interpreters.find(peer.version)
    reason = ""
    try:
        if python is None:
            reason = f"no Python {peer.version} on this machine"
        else:
            run([str(python), "-m", "venv", str(peer.home)])
            run([str(peer.home / "bin" / "pip"), "install", "--quiet", *peer.install])
    except FileNotFoundError as error:
        reason = f"{error.filename} is not there"
    except subprocess.CalledProcessError as error:
        reason = next((line for line in error.stderr.splitlines() if "error" in line.lower()), "not there")[:80]
    except subprocess.TimeoutExpired:
        reason = "installing takes too long"
    (absent if reason else ready).write_text(reason)
    return reason


def run(argv: list[str]) -> None:
    subprocess.run(argv, check=True, capture_output=True, text=True, timeout=600)


def spent(argv: list[str], limit: float = LIMIT) -> tuple[float, str]:
    """CPU seconds of a command with its children, and its output; the time limit's worth where it takes too long."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        text = subprocess.run(argv, capture_output=True, timeout=limit, check=False).stdout.decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        text = ""
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, text


def compiled(version: str, count: int, folder: Path) -> list[tuple[Path, Path]]:
    """Source and ``.pyc`` of ``count`` standard library files of a version, evenly spread over their sizes."""
    python = interpreters.find(version)
    if python is None:
        return []
    library = interpreters.stdlib_of(python)
    sources = sorted(library.glob("*.py"), key=lambda path: (path.stat().st_size, path.name))
    chosen = [sources[i * len(sources) // count] for i in range(count)]
    program = "import py_compile, sys\nfor s, t in zip(sys.argv[1::2], sys.argv[2::2]): py_compile.compile(s, t, doraise=True)"
    pairs = [(source, folder / f"{source.stem}.{version}.pyc") for source in chosen]
    run([str(python), "-I", "-W", "ignore", "-c", program, *[str(path) for pair in pairs for path in pair]])
    return pairs


def control(sources: list[Path]) -> float:
    """CPU seconds of ``ast.unparse(ast.parse(source))``, the best of three."""

    def work() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for source in sources:
                ast.unparse(ast.parse(source.read_bytes()))

    return min(cpu(work) for _ in range(3))


def cpu(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


class Right(NamedTuple):
    """How many code objects of some files there are, and how many of them a tool's texts have right."""

    right: int
    all: int


def right_in_file(pyc: Path, text: str) -> Right:
    """Of the text of a whole file.  Functions in which it does not compile are left out of it, so that the others count; and code
    whose own instructions are right counts where something nested in it is wrong."""
    from depyf.decompiler.bytecode.codeunit import units
    from depyf.decompiler.bytecode.files.pyc import read_pyc
    from depyf.decompiler.verify import verify
    from depyf.decompiler.verify.recompiling.recompile import RecompileError, recompile
    from depyf.errors import DepyfError

    unit = read_pyc(pyc)
    count = len(list(units(unit)))
    for _ in range(MENDED):
        try:
            found = verify(unit, recompile(text, unit.version).unit)
        except RecompileError as error:
            if error.lineno is None:
                break
            text = without_function(text, error.lineno)
        except (DepyfError, RecursionError):
            break
        else:
            return Right(sum(one.proven or one.reason.startswith("nested ") for one in found), count)
    return Right(0, count)


def without_function(text: str, line: int) -> str:
    """``text`` with ``pass`` for the body of the function that a line is in, or for the line where it is in none."""
    lines = text.split("\n")
    at = min(line, len(lines)) - 1
    indent = _indent(lines[at]) if lines[at].strip() else 1 << 30
    head = at
    while head >= 0 and not (lines[head].lstrip().startswith(("def ", "async def ")) and _indent(lines[head]) < indent):
        head -= 1
    if head < 0:
        lines[at] = " " * _indent(lines[at]) + "pass" if lines[at].strip() not in ("", "pass") else ""
        return "\n".join(lines)
    end = head + 1
    while end < len(lines) and (not lines[end].strip() or _indent(lines[end]) > _indent(lines[head])):
        end += 1
    if lines[head + 1 : end] == [(_indent(lines[head]) + 4) * " " + "pass"]:  # its head is wrong
        lines[head:end] = [" " * _indent(lines[head]) + "pass"]
    else:
        lines[head + 1 : end] = [(_indent(lines[head]) + 4) * " " + "pass"]
    return "\n".join(lines)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def right_functions(pyc: Path, printed: str) -> Right:
    """The same for texts of single functions, what is nested in one being judged with its own text."""
    from depyf.decompiler.bytecode.codeunit import nested_units, units
    from depyf.decompiler.bytecode.files.pyc import read_pyc
    from depyf.decompiler.verify import verify
    from depyf.decompiler.verify.recompiling.recompile import recompile
    from depyf.errors import DepyfError

    whole = read_pyc(pyc)
    right = 0
    last = printed.strip().rpartition("\n")[2]  # before it a tool may print what it is at a loss with
    for place, text in (json.loads(last) if last.startswith("{") else {}).items():
        unit = whole
        for at in place.split("/"):
            unit = nested_units(unit)[int(at)]
        try:
            right += verify(unit, recompile(text, unit.version, (unit.name,)).unit)[0].proven
        except (DepyfError, RecursionError):
            continue
    return Right(right, len(list(units(whole))))


def ours(paths: list[Path]) -> None:
    """Print the CPU seconds that this build takes for some files, and what is right of its texts: run by itself (``--ours``)."""
    from depyf.decompiler.bytecode.files.pyc import read_pyc
    from depyf.decompiler.driver.pipeline import decompile_unit

    verdicts = []

    def work() -> None:
        for path in paths:
            verdicts.extend(decompile_unit(read_pyc(path)).verdicts)

    seconds = cpu(work)
    print(json.dumps([seconds, sum(verdict.proven for verdict in verdicts), len(verdicts)]))


Row = tuple[str, str, str, str, str, str]


def row(name: str, version: str, seconds: float, base: float, found: Right | None = None) -> Row:
    cells = ("", "") if found is None else (f"{100 * found.right / found.all:.1f}%", f"{found.right / seconds:.0f}")
    return name, version, f"{seconds:.2f}", f"{seconds / base:.1f}", *cells


def rows(count: int) -> Iterator[Row]:
    """Tool, version of the files, CPU seconds, ratio to the control, share of right code objects, right ones per second, as text."""
    with tempfile.TemporaryDirectory() as folder:
        for version in sorted({peer.version for peer in PEERS}, key=lambda text: int(text.partition(".")[2])):
            pairs = compiled(version, count, Path(folder))
            tools = [peer for peer in PEERS if peer.version == version]
            if not pairs:
                yield from ((peer.name, version, f"absent: no Python {version} here", "", "", "") for peer in tools)
                continue
            base = 0.0
            if any(not peer.absent for peer in tools):
                base = control([source for source, _ in pairs])
                yield row(f"ast.unparse(ast.parse()) of {HOST}", version, base, base)
                for name, python in BUILDS.items():
                    yield our_row(name, python, version, [pyc for _, pyc in pairs], base)
            for peer in tools:
                yield peer_row(peer, [pyc for _, pyc in pairs], base)


def our_row(name: str, python: str, version: str, files: list[Path], base: float) -> Row:
    if not Path(python).exists():
        return name, version, "absent: make compiled", "", "", ""
    path = str(ROOT / "src") if python == sys.executable else ""
    environment = {**os.environ, "PYTHONPATH": path}
    made = subprocess.run([python, "-m", "tools.bench.peers", "--ours", *map(str, files)], capture_output=True, text=True, check=False, env=environment)  # fmt: skip
    if made.returncode:
        return name, version, f"failed: {made.stderr.strip().splitlines()[-1]}", "", "", ""
    seconds, right, all_ = json.loads(made.stdout)
    return row(name, version, seconds, base, Right(right, all_))


def peer_row(peer: Peer, files: list[Path], base: float) -> Row:
    reason = prepare(peer)
    if reason:
        return peer.name, peer.version, f"absent: {reason}", "", "", ""
    start = min(spent(peer.argv(*([] if peer.by_function else ["--version"])))[0] for _ in range(3))
    seconds, right, every = 0.0, 0, 0
    judge = right_functions if peer.by_function else right_in_file
    for pyc in files:
        one, text = spent(peer.argv(str(pyc)))
        seconds += max(0.0, one - start)
        found = judge(pyc, text)
        right, every = right + found.right, every + found.all
    return row(peer.name, peer.version, max(seconds, 0.001), base, Right(right, every))


def table(count: int) -> None:
    print(
        f"\n{count} standard library files of each version; one process per file, start-up off; right: proven by our verifier"
    )
    print(f"{'':34}{'files':>6}{'CPU s':>9}{'ratio':>8}{'right':>9}{'right/s':>9}")
    for name, version, seconds, *others in rows(count):
        if not others[0]:
            print(f"{name:34}{version:>6}  {seconds}", flush=True)
        else:
            ratio, share, speed = others
            print(f"{name:34}{version:>6}{seconds:>9}{ratio:>8}{share:>9}{speed:>9}", flush=True)


if __name__ == "__main__":
    sys.setrecursionlimit(20000)
    if sys.argv[1:2] == ["--ours"]:
        ours([Path(path) for path in sys.argv[2:]])
    else:
        parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("--files", type=int, default=20)
        table(parser.parse_args().files)
