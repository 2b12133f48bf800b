"""The other decompilers, measured in the same run as ours (``make bench``).

    python tools/peers.py [--files 20]

Tools that pip or npm can install go to environments of their own under ``.cache/peers`` (git-ignored), made on the first
run; what cannot be installed is reported as absent.  Every tool is run as a program, one file at a time, on the same
standard library files compiled by a version that it reads.  Printed: CPU seconds as a multiple of what
``ast.unparse(ast.parse(source))`` takes for these files, start-up time taken off, and the share of files whose text our
own verifier proves to mean the same.
"""

from __future__ import annotations

import argparse
import ast
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

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "src"))

import interpreters

HOME = ROOT / ".cache" / "peers"
LIMIT = 60
HOST = f"{sys.version_info[0]}.{sys.version_info[1]}"

PUBLISHED_DEPYF = """
import marshal, sys, types
import depyf
def functions(code):
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            if const.co_flags & 1 and not const.co_name.startswith("<"):
                yield const
            yield from functions(const)
if len(sys.argv) > 1:
    code = marshal.loads(open(sys.argv[1], "rb").read()[16:])
    for inner in functions(code):
        try:
            depyf.decompile(inner)
        except Exception:
            pass
"""


@dataclass(frozen=True)
class Peer:
    """A tool: how it is installed, which version's files it gets, and its command for one file."""

    name: str
    version: str
    install: tuple[str, ...]
    command: tuple[str, ...]
    whole_files: bool = True

    @property
    def home(self) -> Path:
        return HOME / self.name

    def argv(self, *rest: str) -> list[str]:
        return [
            word.format(bin=self.home / "bin", npm=self.home / "node_modules" / ".bin") for word in self.command
        ] + [*rest]


PEERS = (
    Peer("pycdecompile", HOST, ("pip", "pycdecompile"), ("{bin}/pycdecompile",)),
    Peer("uncompyle6", "3.8", ("pip", "uncompyle6"), ("{bin}/uncompyle6",)),
    Peer("decompyle3", "3.8", ("pip", "decompyle3"), ("{bin}/decompyle3",)),
    Peer("depyo", HOST, ("npm", "depyo"), ("{npm}/depyo",)),
    Peer("pylingual", HOST, ("pip", "pylingual"), ("{bin}/pylingual",)),
    Peer("depyf 0.20.0", HOST, ("pip", "--no-deps", "depyf==0.20.0", "astor", "dill"), ("{bin}/python", "-c", PUBLISHED_DEPYF), False),
)  # fmt: skip


def prepare(peer: Peer) -> str:
    """Install a peer if it is not there yet; the reason where that is impossible."""
    ready, absent = peer.home / ".ready", peer.home / ".absent"
    if ready.exists() or absent.exists():
        return absent.read_text() if absent.exists() else ""
    shutil.rmtree(peer.home, ignore_errors=True)
    peer.home.mkdir(parents=True)
    python = interpreters.find(peer.version)
    reason = ""
    try:
        if peer.install[0] == "npm":
            run(["npm", "install", "--prefix", str(peer.home), *peer.install[1:]])
        elif python is None:
            reason = f"no Python {peer.version} on this machine"
        else:
            run([str(python), "-m", "venv", str(peer.home)])
            run([str(peer.home / "bin" / "pip"), "install", "--quiet", *peer.install[1:]])
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


def proven(pyc: Path, text: str) -> bool:
    """Whether our verifier proves that ``text`` means what the file does."""
    from depyf.bytecode.files.pyc import read_pyc
    from depyf.errors import DepyfError
    from depyf.verify import verify
    from depyf.verify.run.recompile import recompile

    unit = read_pyc(pyc)
    try:
        made = recompile(text, unit.version)
        return all(verdict.proven for verdict in verify(unit, made.unit))
    except (DepyfError, RecursionError):
        return False


def rows(count: int) -> Iterator[tuple[str, str, str, str, str]]:
    """Name, version, CPU seconds, ratio to the control and share of proven files, as text."""
    from depyf.bytecode.files.pyc import read_pyc
    from depyf.driver.pipeline import decompile_unit
    from depyf.errors import DepyfError

    with tempfile.TemporaryDirectory() as folder:
        files: dict[str, list[tuple[Path, Path]]] = {}
        controls: dict[str, float] = {}
        for version in sorted({peer.version for peer in PEERS}, key=lambda text: text.split(".")):
            pairs = files[version] = compiled(version, count, Path(folder))
            if not pairs:
                continue
            base = controls[version] = control([source for source, _ in pairs])
            yield f"ast.unparse(ast.parse()) of {HOST}", version, f"{base:.2f}", "1.0", ""
            good = 0

            def ours() -> None:
                nonlocal good
                for _, pyc in pairs:  # noqa: B023
                    try:
                        good += decompile_unit(read_pyc(pyc)).proven
                    except DepyfError:
                        pass

            seconds = cpu(ours)
            yield "this one, proof included", version, f"{seconds:.2f}", f"{seconds / base:.1f}", share(good, count)
        for peer in PEERS:
            reason = prepare(peer)
            pairs = files[peer.version]
            if reason or not pairs:
                yield peer.name, peer.version, "absent", "", reason
                continue
            start = min(spent(peer.argv() if not peer.whole_files else peer.argv("--version"))[0] for _ in range(3))
            seconds, good = 0.0, 0
            for _, pyc in pairs:
                one, text = spent(peer.argv(str(pyc)))
                seconds += max(0.0, one - start)
                good += peer.whole_files and proven(pyc, text)
            told = share(good, count) if peer.whole_files else "functions only"
            yield peer.name, peer.version, f"{seconds:.2f}", f"{seconds / controls[peer.version]:.1f}", told


def share(good: int, count: int) -> str:
    return f"{100 * good / count:.0f}%"


def table(count: int) -> None:
    print(
        f"\nPeers, {count} standard library files of each version (pip and npm tools, one process per file, start-up off)"
    )
    print(f"{'':34}{'version':>8}{'CPU s':>9}{'ratio':>8}  files proven by our verifier")
    for name, version, seconds, ratio, told in rows(count):
        print(f"{name:34}{version:>8}{seconds:>9}{ratio:>8}  {told}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=20)
    sys.setrecursionlimit(20000)
    table(parser.parse_args().files)
