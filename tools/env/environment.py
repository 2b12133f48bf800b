"""``make env``: the project's virtual environment, made or brought up to date.  Runs with the Python that it is to be of, 3.10 or newer.

python3.12 -m tools.env.environment [FOLDER] [PYTHON]

FOLDER: .venv where none is named.  PYTHON: the command that started this program, where that is a script (``make pythons`` writes some).

An environment of another version is made again.  torch comes first: everything else then resolves against it.  What a Python
has no packages for is named and left out; the tests that need it are skipped:

- torch: ``$TORCH`` (default torch==2.13.0), else the newest one that has a wheel for this Python;
- transformers, for ``make demo``, ``make models`` and some tests;
- torchvision (the release that belongs to torch) and timm, in FOLDER/vision, found by tools/torch/models only: torchvision's wheel
  needs help beside a CPU torch;
- triton, for its interpreter, in FOLDER/triton, found by tests/torch/stepping/test_triton_kernels.py only: torch behaves differently beside it;
- JupyterLab with all that it needs, in FOLDER/jupyter, for tests/browser/test_jupyterlab.py.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tools import ROOT

TORCH = "torch==2.13.0"
JUPYTERLAB = "jupyterlab==4.6.*"
TRITON = {"2.13": "3.7.1", "2.14": "3.8.0"}
"""The releases that CUDA builds of torch require."""
OLDEST = (3, 10)
GAVE_UP = re.compile(r"Retry\(total=0,|[Cc]onnection error: ")
"""How pip says that an index did not answer, and that it has stopped asking."""
NETWORK = re.compile(r"\[Errno -?\d+\] [\w ]+|[Cc]onnection error: .+|(?:read|connect) timed? ?out[^')]*|SSLError\([^)]*\)|ProxyError\([^)]*\)", re.I)  # fmt: skip


def check_headers(python: Path) -> None:
    """Inductor compiles C++ that includes ``Python.h``."""
    include = Path(said(python, "import sysconfig; print(sysconfig.get_path('include'))"))
    version = of_version(python)
    from tools.env.testsuites import ensure_headers

    if not ensure_headers(version, include):
        left_out(
            "Python.h",
            f"not in {include}",
            f"Inductor cannot compile: install libpython{version}-dev (Debian); make demo fails without",
        )


def of_version(python: Path) -> str:
    """``3.12`` where ``python`` starts, else nothing."""
    try:
        answer = subprocess.run(
            [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True, text=True
        )
    except OSError:
        return ""
    return answer.stdout.strip()


def make(folder: Path, base: str) -> None:
    """A virtual environment of ``base`` with pip in it; also where a link to the executable does not start, and where Debian
    left ``ensurepip`` out."""
    print(f"{folder}: an environment of Python {sys.version.split()[0]}", flush=True)
    python = folder / "bin" / "python"
    subprocess.run([base, "-m", "venv", "--clear", "--without-pip", folder], check=True)
    if not of_version(python):
        wrap(Path(base), python)
    if subprocess.run([python, "-m", "ensurepip"], capture_output=True).returncode == 0:
        return
    packages = said(python, "import sysconfig; print(sysconfig.get_path('purelib'))")
    for other in pips():
        if subprocess.run([other, "-m", "pip", "install", "-q", "--target", packages, "pip"]).returncode == 0:
            return
    shutil.rmtree(folder)
    version = "%d.%d" % sys.version_info[:2]
    sys.exit(f"{base} has no ensurepip, and no other Python here has pip: install python{version}-venv (Debian), or name another: make PYTHON=...")  # fmt: skip


def pips() -> list[str]:
    """Interpreters that have pip."""
    from tools.env import interpreters

    found = dict.fromkeys([sys.executable, *map(str, interpreters.found().values())])
    return [
        path for path in found if subprocess.run([path, "-m", "pip", "--version"], capture_output=True).returncode == 0
    ]


def wrap(base: Path, python: Path) -> None:
    """Make ``python`` start where a link to the executable does not: ``base`` is a script that runs it with a C library of
    its own (``--argv0 PATH`` is what it then takes for its name).  Its headers, which include each other by their place
    below ``/usr/include``, are in no place that a compiler knows."""
    real = python.parent / os.readlink(python) if python.is_symlink() else python
    script = re.sub(r'--argv0 (?:"[^"]*"|\S+)', f'--argv0 "{real}"', base.read_text())
    include = f'export CPLUS_INCLUDE_PATH="{real.resolve().parents[1] / "include"}${{CPLUS_INCLUDE_PATH:+:$CPLUS_INCLUDE_PATH}}"'
    real.unlink()
    real.write_text(script.replace("\n", f"\n{include}\n", 1))
    real.chmod(0o755)


def said(python: Path, program: str) -> str:
    return subprocess.run([python, "-c", program], capture_output=True, text=True).stdout.strip()


def install(python: Path, *packages: str) -> str:
    """Install; what pip said in the end where it cannot.  Exits where no package index answers: nothing else can be had then."""
    print(f"installing {' '.join(name for name in packages if not name.startswith('-'))}", flush=True)
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode == 0:
        return ""
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    if any(GAVE_UP.search(line) for line in lines):
        reason = NETWORK.search(done.stdout)
        sys.exit(
            f"no package index can be reached{': ' + reason[0] if reason else ''}. make env needs one, once; "
            f"what pip asks: {python} -m pip config list"
        )
    errors = [line for line in lines if line.lstrip(" │").startswith("ERROR")]
    return (errors or lines or [f"exit status {done.returncode}"])[-1].lstrip(" │").removeprefix("ERROR: ")


def left_out(what: str, why: str, cost: str) -> None:
    print(f"not installed: {what}: {why}\n    {cost}", flush=True)


def install_torch(python: Path) -> str:
    """The version of torch that is there afterwards, as ``2.13``; nothing where there is none for this Python."""
    version = "import torch; print(torch.__version__)"
    asked = os.environ.get("TORCH") or TORCH
    if not said(python, version):
        reason = install(python, asked)
        if reason and "TORCH" not in os.environ:
            left_out(asked, reason, "the newest torch for this Python is tried")
            reason = install(python, "torch>=2.6")
        if reason:
            left_out("torch", reason, "the tests that need torch are skipped, and make demo cannot run")
    return ".".join(said(python, version).split(".")[:2])


def beside(python: Path, folder: Path, name: str, packages: list[str], cost: str, whole: bool = False) -> None:
    """Packages in a folder of their own, which only those find who look there.  ``whole``: with what they need."""
    if (folder / name).is_dir():
        return
    reason = install(python, *([] if whole else ["--no-deps"]), "--target", str(folder), *packages)
    if reason:
        left_out(" and ".join(packages), reason, cost)


def main() -> int:
    if sys.version_info < OLDEST:
        sys.exit(
            f"depyf needs Python 3.10 or newer, and {sys.executable} is {sys.version.split()[0]}: make PYTHON=... names another"
        )
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".venv").absolute()
    python = folder / "bin" / "python"
    if of_version(python) != "%d.%d" % sys.version_info[:2]:
        make(folder, os.path.abspath(shutil.which(sys.argv[2]) or sys.argv[2]) if len(sys.argv) > 2 else sys.executable)
    check_headers(python)
    torch = install_torch(python)
    if reason := install(python, "-e", ".[cli,test,tools,docs]"):
        sys.exit(f"cannot install the tools of the tests: {reason}")
    beside(python, folder / "jupyter", "jupyterlab", [JUPYTERLAB], "the tests in JupyterLab are skipped", whole=True)
    if not torch:
        return 0
    if reason := install(python, "-e", ".[models]"):
        left_out("transformers", reason, "make demo, make models and the tests of models are skipped")
    minor = int(torch.split(".")[1])
    vision = os.environ.get("VISION", f"torchvision==0.{minor + 15}.* timm>=1.0").split()
    beside(python, folder / "vision", "timm", vision, "the models of timm and torchvision are skipped")
    triton = os.environ.get("TRITON") or (f"triton=={TRITON[torch]}" if torch in TRITON else "triton")
    beside(python, folder / "triton", "triton", [triton], "the tests of Triton kernels are skipped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
