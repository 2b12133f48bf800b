"""``make pythons``: find the CPython interpreters 3.8 to 3.15, and install those that are not on this machine.

python -m tools.env.pythons [VERSION...]

One line a version says where it was found, or how it was installed.  Ways to install, the first that works is taken:

- ``uv python install``, where uv is on the PATH;
- ``pyenv install``, where pyenv is on the PATH or in ``$PYENV_ROOT``;
- packages of Debian, where ``apt-get`` and ``dpkg-deb`` are: unpacked below ``$DEPYF_PYTHONS`` (default ``~/.cache/depyf-pythons``)
  and started with the C library they were built for.  That needs no root, and nothing on the machine is replaced.

Runs with any Python from 3.10.  Exit status 1: what could not be had is named, with what was tried and what to do.
"""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from depyf.decompiler.verify.recompiling.interpreters import find_interpreter, home, installed_by_us, version_of
from tools.env import interpreters

MIRROR = os.environ.get("DEBIAN_MIRROR") or "http://deb.debian.org/debian"
SUITES: Mapping[str, str] = {
    "3.9": "bullseye", "3.11": "bookworm", "3.13": "trixie", "3.14": "forky", "3.15": "forky",
}  # fmt: skip
"""Releases of Debian that have a Python; it has none of the others."""
LIMIT = 1800.0


class CannotError(Exception):
    """Why this way does not lead to an interpreter."""


def ran(command: list[str], folder: Path | None = None) -> str:
    """The output of a command; ``CannotError`` with its first error where it fails, else with its last line."""
    try:
        done = subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            timeout=LIMIT, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        raise CannotError(str(error)) from None
    if done.returncode:
        said = [line.strip() for line in done.stdout.splitlines() if line.strip()]
        blame = [line for line in said if line.lower().startswith(("e:", "error", "curl:"))]
        raise CannotError((blame[:1] or said or [f"exit status {done.returncode}"])[-1])
    return done.stdout


def by_uv(version: str) -> None:
    uv = shutil.which("uv")
    if not uv:
        raise CannotError("uv is not on the PATH")
    ran([uv, "python", "install", version])


def by_pyenv(version: str) -> None:
    root = Path(os.environ.get("PYENV_ROOT") or home() / ".pyenv")
    pyenv = shutil.which("pyenv") or shutil.which("pyenv", path=str(root / "bin"))
    if not pyenv:
        raise CannotError("pyenv is not on the PATH")
    ran([pyenv, "install", "--skip-existing", version])


def by_debian(version: str) -> None:
    """Unpack the packages of a Debian release, and write a script that starts the interpreter."""
    home = installed_by_us()
    root = home / f"debian-{SUITES.get(version)}-{version}"
    unfinished = root.with_name(f"{root.name}.{os.getpid()}")
    try:
        unpack(version, [f"python{version}", f"python{version}-venv"], unfinished)
        unpack(version, [f"libpython{version}-dev"], unfinished, alone=True)
        shutil.rmtree(root, ignore_errors=True)
        unfinished.rename(root)
    except OSError as error:
        raise CannotError(str(error)) from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    script = home / "bin" / f"python{version}"
    script.parent.mkdir(parents=True, exist_ok=True)
    for line in starts(root, root / "usr" / "bin" / f"python{version}"):
        script.write_text(f'#!/bin/sh\nexec {line} "$@"\n', encoding="utf-8")
        script.chmod(0o755)
        version_of.cache_clear()
        if version_of(str(script)) == interpreters.number(version):
            return
    script.unlink()
    raise CannotError(f"what was unpacked in {root} does not start")


def unpack(version: str, packages: list[str], root: Path, *, alone: bool = False) -> None:
    """Unpack packages of the Debian release that has this Python into ``root``, with all they need or ``alone``.

    apt-get works with a state of its own: neither root nor a place in the machine's sources is needed, and Debian's
    signatures are checked.  ``CannotError`` says why that is impossible.
    """
    suite = SUITES.get(version)
    if not suite:
        raise CannotError("no release of Debian has it")
    if lacking := [name for name in ("apt-get", "dpkg-deb") if not shutil.which(name)]:
        raise CannotError(f"{' and '.join(lacking)} not on the PATH")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("lists/partial", "archives/partial", "sources.d", "preferences.d"):
            (folder / part).mkdir(parents=True)
        (folder / "status").touch()  # nothing is installed yet: everything that is needed comes along
        (folder / "sources.list").write_text(f"deb {MIRROR} {suite} main\n")
        settings = {
            "Dir::State": "", "Dir::State::status": "status", "Dir::State::lists": "lists", "Dir::Cache": "",
            "Dir::Cache::archives": "archives", "Dir::Etc::sourcelist": "sources.list",
            "Dir::Etc::sourceparts": "sources.d", "Dir::Etc::preferences": "none", "Dir::Etc::preferencesparts": "preferences.d",
        }  # fmt: skip
        apt = ["apt-get", "-q", "-y", "-o", "APT::Install-Recommends=false", "-o", "APT::Sandbox::User="]
        apt += [part for name, place in settings.items() for part in ("-o", f"{name}={folder / place}")]
        ran([*apt, "-o", "APT::Update::Error-Mode=any", "update"])
        archives = folder / "archives"
        ran([*apt, *(["download"] if alone else ["--download-only", "install"]), *packages], archives)
        root.mkdir(parents=True, exist_ok=True)
        for package in sorted(archives.glob("*.deb")):
            ran(["dpkg-deb", "-x", str(package), str(root)])


def starts(root: Path, python: Path) -> Iterator[str]:
    """Command lines that may start an unpacked interpreter: by the loader it came with, or, where that is too old to be told
    a program's name, by the machine's own."""
    libraries = [path for path in (root / "lib", root / "usr" / "lib") for path in sorted(path.glob("*-linux-gnu*"))]
    for loader in sorted(path for pattern in ("lib*/ld-linux*", "usr/lib*/ld-linux*") for path in root.glob(pattern)):
        path = ":".join(map(str, libraries))
        yield shlex.join([str(loader), "--library-path", path, "--argv0", str(python), str(python)])
    yield shlex.join([str(python)])


WAYS: Mapping[str, Callable[[str], None]] = {"uv": by_uv, "pyenv": by_pyenv, "Debian": by_debian}


def provide(version: str) -> tuple[bool, str]:
    """Whether the interpreter is there now, and the line that says how; every way that was tried in vain is named."""
    if found := interpreters.find(version):
        return True, f"{found} (was here)"
    reasons = []
    for name, way in WAYS.items():
        try:
            way(version)
        except CannotError as error:
            reasons.append(f"{name}: {error}")
            continue
        find_interpreter.cache_clear()
        version_of.cache_clear()
        if found := interpreters.find(version):
            return True, f"{found} (installed by {name})"
        reasons.append(f"{name}: did not fail, but no python{version} answers")
    return False, "; ".join(reasons)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*", metavar="VERSION", help="3.8 to 3.15; without any: all of them")
    options = parser.parse_args(argv)
    if unknown := [version for version in options.versions if version not in interpreters.VERSIONS]:
        parser.error(f"not a version from 3.8 to 3.15: {' '.join(unknown)}")
    lacking = []
    for version in options.versions or interpreters.VERSIONS:
        there, line = provide(version)
        print(f"{version:5} {line if there else 'NOT FOUND, and not installed: ' + line}", flush=True)
        if not there:
            lacking.append(version)
    if lacking:
        names = ", ".join(f"python{version}" for version in lacking)
        print(
            f"pythons: {names} could not be had on this {platform.system()} machine. Install uv or pyenv and try again, or put "
            f"them on the PATH, or into {installed_by_us() / 'bin'}. Tests that need them are skipped.",
            file=sys.stderr,
        )
    return 1 if lacking else 0


if __name__ == "__main__":
    sys.exit(main())
