"""The compiled build: ``make compiled`` and ``make wheels``.

    python -m tools.native.compiled install [FOLDER]      # an environment (.venv-compiled) with it, and all else that .venv has
    python -m tools.native.compiled wheels [VERSION ...]  # a wheel for each Python found, 3.10 to 3.14, in dist/
    .venv-compiled/bin/python -m tools.native.compiled same MODULE ...  # its texts and verdicts, beside those of src/

What is compiled is in setup.py.  What is the same as in the last build is not compiled again: build/ holds it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

from tools import ROOT

VERSIONS = ("3.10", "3.11", "3.12", "3.13", "3.14")


def wheel(python: str | Path, folder: Path, *, isolated: bool) -> Path:
    """The wheel for ``python``, in ``folder``; ``isolated`` installs what the build needs, else it is there."""
    for path in (ROOT / "build").glob("lib*"):  # modules that are gone would be packed
        shutil.rmtree(path)
    alone = folder / "new"
    shutil.rmtree(alone, ignore_errors=True)
    command = [python, "-m", "pip", "-q", "--disable-pip-version-check", "wheel", "--no-deps", "-w", alone, ROOT]
    options = [] if isolated else ["--no-build-isolation"]
    done = subprocess.run(
        [str(part) for part in [*command, *options]],
        cwd=ROOT,
        env={**os.environ, "DEPYF_COMPILE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        print(done.stdout)
        sys.exit(f"the compiled build for {python} failed")
    (made,) = alone.glob("*.whl")
    return Path(shutil.move(made, folder / made.name))


def install(target: Path) -> None:
    """An environment of this Python, which finds the packages of this environment after its own."""
    started = time.monotonic()
    made = wheel(sys.executable, ROOT / "build", isolated=False)
    base = getattr(sys, "_base_executable", sys.executable)
    subprocess.run([base, "-m", "venv", "--clear", "--without-pip", target], check=True)
    python = target / "bin" / "python"
    where = f"import sysconfig; print(sysconfig.get_path('purelib', vars={{'base': {str(target)!r}}}))"
    packages = Path(subprocess.run([python, "-c", where], capture_output=True, text=True, check=True).stdout.strip())
    (packages / "beside.pth").write_text(sysconfig.get_path("purelib") + "\n")
    shutil.unpack_archive(made, packages, "zip")
    size = sum(path.stat().st_size for path in packages.rglob("*.so"))
    print(f"{target.name}: {made.name}, {size / 1e6:.1f} MB of extension modules, {time.monotonic() - started:.0f} s")


CAN_BUILD = """
import pathlib, pip, subprocess, sys, sysconfig
subprocess.run([sys.executable, "-c", ""], check=True, capture_output=True)
pathlib.Path(sysconfig.get_path("include"), "Python.h").stat()
"""


def _lacks(python: str | Path) -> str:
    """Why ``python`` cannot build an extension module; nothing where it can: it has pip and headers, and starts by its own path."""
    done = subprocess.run([python, "-c", CAN_BUILD], capture_output=True, text=True)
    return done.stderr.strip().rpartition("\n")[2] if done.returncode else ""


def wheels(versions: list[str]) -> list[str]:
    """A wheel for each of ``versions`` that is found and can build one; of the others, which are returned, why not."""
    from tools.env import interpreters

    found = interpreters.found()
    folder = ROOT / "dist"
    folder.mkdir(exist_ok=True)
    without = []
    for version in versions:
        if version not in found:
            print(f"no wheel for {version}: no such Python here (make pythons)")
            without.append(version)
            continue
        if lacks := _lacks(found[version]):
            print(f"no wheel for {version}: {found[version]} cannot build one: {lacks}")
            without.append(version)
            continue
        print(wheel(found[version], folder, isolated=True).relative_to(ROOT), flush=True)
    shutil.rmtree(folder / "new", ignore_errors=True)
    return without


WRITES = """
import importlib.util, json, pathlib, sys, time, warnings
warnings.simplefilter("ignore")
from depyf.decompiler.bytecode.codeunit import CodeUnit
from depyf.decompiler.driver import decompilation
from depyf.decompiler.driver.pipeline import decompile_unit
from depyf.native import build
internal = []
decompilation.on_internal_error = lambda unit, error: internal.append(f"{unit.qualname}: {type(error).__name__}: {error}")
written = {}
started = time.process_time()
for name in sys.argv[1:]:
    found = pathlib.Path(importlib.util.find_spec(name).origin)
    for path in sorted(found.parent.rglob("*.py")) if found.name == "__init__.py" else [found]:
        code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
        made = decompile_unit(CodeUnit.from_code(code))
        written[str(path)] = [made.source, [(v.qualname, v.status.value, v.reason) for v in made.verdicts]]
print(json.dumps([build(), written, internal, time.process_time() - started]))
"""


def same(modules: list[str]) -> int:
    """Whether this build and the sources write the same, and nothing fails inside; the exit status."""
    builds = {}
    for python, paths in ((sys.executable, ""), (ROOT / ".venv" / "bin" / "python", str(ROOT / "src"))):
        done = subprocess.run(
            [python, "-P" if sys.version_info >= (3, 11) else "-B", "-c", WRITES, *modules],
            env={**os.environ, "PYTHONPATH": paths},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            sys.exit(done.stderr)
        build, *rest = json.loads(done.stdout)
        builds[build] = rest
    if set(builds) != {"compiled", "pure"}:
        sys.exit(f"only the {' '.join(builds)} build is here")
    (compiled, internal, fast), (pure, _, slow) = builds["compiled"], builds["pure"]
    differing = [path for path in pure if compiled.get(path) != pure[path]]
    print(
        *(f"differs: {path}" for path in differing), *(f"internal error: {line}" for line in internal), sep="\n", end=""
    )
    print(f"{len(pure)} modules, {len(differing)} differ, {fast:.1f} s compiled, {slow:.1f} s pure ({fast / slow:.2f})")
    return bool(differing or internal)


def main() -> int:
    command, *arguments = sys.argv[1:] or ["install"]
    if command == "wheels":
        without = wheels(arguments or list(VERSIONS))
        return bool(without) if arguments else len(without) == len(VERSIONS)
    elif command == "same":
        return same(arguments)
    elif command == "install":
        install((ROOT / (arguments[0] if arguments else ".venv-compiled")).absolute())
    else:
        sys.exit(__doc__)
    return 0


if __name__ == "__main__":
    sys.exit(main())
