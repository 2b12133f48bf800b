"""The package as people install it: built from what git has, checked, and installed into empty environments."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import needs
from tools.env.environment import of_version, wrap

ROOT = Path(__file__).parents[1]
HOSTS = ("3.10", "3.11", "3.12", "3.13", "3.14")


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist; the wheel is built from the sdist, as a release is."""
    pytest.importorskip("build")
    pytest.importorskip("twine")
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("no git checkout")
    for name in filter(None, listed.stdout.split("\0")):
        if name.startswith(("src/", "README", "LICENSE", "pyproject.toml", "setup.py", "MANIFEST.in", "tools/")):
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, source)
    return out


def test_metadata_is_what_the_registry_wants(built: Path) -> None:
    files = sorted(built.iterdir())
    assert [file.suffix for file in files] == [".whl", ".gz"]
    assert "PASSED" in run(sys.executable, "-m", "twine", "check", "--strict", *files)


def test_package_holds_what_it_needs_and_nothing_else(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {
        "depyf/py.typed",
        "depyf/views/report/assets/report.html.j2",
        "depyf/views/report/assets/report.js",
        "depyf/views/report/assets/LICENSES.txt",
    } <= set(names)
    assert {name.split("/")[0] for name in names} == {
        "depyf",
        *(name.split("/")[0] for name in names if ".dist-info/" in name),
    }
    sources = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src" / "depyf").rglob("*.py")}
    assert sources <= set(names)
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as file:
        assert any(name.endswith("/LICENSE") for name in file.getnames())


@pytest.mark.parametrize("version", HOSTS)
def test_installs_into_an_empty_environment(built: Path, tmp_path: Path, version: str) -> None:
    (wheel,) = built.glob("*.whl")
    folder = tmp_path / "environment"
    run(needs.need(version), "-m", "venv", "--without-pip", folder, cwd=tmp_path)
    python = folder / "bin" / "python"
    if not of_version(python):  # an interpreter that is started by a script
        wrap(needs.need(version), python)
    run(sys.executable, "-m", "pip", "-q", "--python", python, "install", "--no-index", wheel, cwd=tmp_path)
    assert run(folder / "bin" / "depyf", "--version", cwd=tmp_path).startswith(f"depyf 1.0.0.dev0 (Python {version}.")
    program = "def f(x):\n    return [y for y in x if y]\n\nimport depyf\nprint(depyf.decompile(f))\nprint(*map(callable, (depyf.explain, depyf.report)))"
    (tmp_path / "program.py").write_text(program)
    shown = run(python, "program.py", cwd=tmp_path)
    assert "return [y for y in x if y]" in shown and shown.endswith("True True\n")


def test_import_loads_nothing_that_is_not_asked_for() -> None:
    """``import depyf`` takes milliseconds: the decompiler is imported when it is used."""
    program = "import sys; import depyf; print(sorted(name for name in sys.modules if name.startswith('depyf')))"
    assert (
        run(sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT / 'src')!r}); {program}") == "['depyf']\n"
    )
