"""The inputs of a replay, the same for both commits: ``.pyc`` files of every version on this machine, and torch programs.

A *shard* is a folder of ``.pyc`` files that are read in one mode, or one run on torch.  Its inputs are written once below
``.cache/replay/inputs`` by the interpreter of their version.
"""

from __future__ import annotations

import re
import subprocess
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools import ROOT
from tools.env import interpreters
from tools.fuzz.randomsource import make

INPUTS = ROOT / ".cache" / "replay" / "inputs"
MODES = ("pretty", "ugly", "unlined")
"""As a person reads it, with all idioms off, and without line numbers."""
RANDOM = 60
"""Random modules of each version."""
SHARE = 80
SHARE_OF_OTHERS = 8
"""The quick form takes one file of Lib in so many, and of the other inputs."""
COMPILER = """
import os, py_compile, sys, warnings
warnings.simplefilter("ignore")
for line in sys.stdin.read().splitlines():
    source, target, name = line.split("\\t")
    if not os.path.exists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        try:
            py_compile.compile(source, target, name, doraise=True)
        except Exception:
            pass
"""


@dataclass(frozen=True)
class Shard:
    """``kind`` is "pyc", "cut" or "dump"; ``folder`` holds the files of the first."""

    name: str
    kind: str
    folder: Path = INPUTS
    mode: str = "pretty"

    def keys(self, quick: bool) -> list[str]:
        """The files of a folder, by their relative names; the quick form takes a sample that is always the same."""
        names = sorted(path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*.pyc"))
        return [name for name in names if not quick or in_sample(self.name, name)]


def in_sample(shard: str, name: str) -> bool:
    """Whether the quick form takes this input of a shard."""
    share = SHARE if shard.startswith("lib") else SHARE_OF_OTHERS
    return zlib.crc32(name.encode()) % share == 0


def shards(only: str, quick: bool = False) -> Iterator[Shard]:
    """Every shard whose name contains ``only``, its inputs written: with ``quick`` those of the sample."""
    for version in interpreters.found():
        for what, modes in (("lib", MODES[:1]), ("cases", MODES), ("random", MODES[:1])):
            folder = INPUTS / what / version
            wanted = [
                Shard(f"{what} {version} {mode}", "pyc", folder, mode)
                for mode in modes
                if only in f"{what} {version} {mode}"
            ]
            if wanted:
                sources = _sources(what, version)
                chosen = [pair for pair in sources if not quick or in_sample(what, f"{pair[1]}c")]
                _compile(version, chosen, folder)
            yield from wanted
    for kind in ("cut", "dump"):
        if only in kind:
            yield Shard(kind, kind)


def _sources(what: str, version: str) -> list[tuple[Path, str]]:
    """Source files and their names below the folder of a shard."""
    if what == "lib":
        python = interpreters.find(version)
        assert python is not None
        root = interpreters.stdlib_of(python)
        found = [path.relative_to(root) for path in sorted(root.rglob("*.py"))]
        left_out = {"site-packages", "dist-packages", "__pycache__"}
        return [(root / name, name.as_posix()) for name in found if not left_out.intersection(name.parts)]
    if what == "cases":
        return [(path, path.name) for path in _case_sources()]
    major, minor = map(int, version.split("."))
    folder = INPUTS / "random" / f"{version}-sources"
    folder.mkdir(parents=True, exist_ok=True)
    for seed in range(RANDOM):
        (folder / f"seed_{seed:03}.py").write_text(make(seed, (major, minor)), encoding="utf-8")
    return [(path, path.name) for path in sorted(folder.glob("*.py"))]


def _case_sources() -> list[Path]:
    """The golden cases, each cut off before its first ``# output`` or ``# written`` line."""
    folder = INPUTS / "cases" / "sources"
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for path in sorted((ROOT / "tests" / "cases").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        source = folder / path.name
        source.write_text(re.split(r"\n# (?:output|written)\b", text)[0] + "\n", encoding="utf-8")
        found.append(source)
    return found


def _compile(version: str, sources: list[tuple[Path, str]], folder: Path) -> None:
    """Write the ``.pyc`` files that are missing; what this version does not compile is left out."""
    lines = [
        f"{source}\t{folder / (name + 'c')}\t{name}" for source, name in sources if not (folder / (name + "c")).exists()
    ]
    if lines:
        command = [str(interpreters.find(version)), "-I", "-c", COMPILER]
        subprocess.run(command, input="\n".join(lines), text=True, check=True)
