"""``depyf run`` gives a program the ``__main__``, ``sys.argv`` and ``sys.path`` that ``python`` gives it, on every version."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import needs

SOURCES = Path(__file__).resolve().parents[3] / "src"
SHOWS = """
import json, sys
number: int = 1
main = vars(sys.modules["__main__"])

def shown(value):
    if type(value).__name__ == "ModuleSpec":
        names = ("name", "origin", "submodule_search_locations", "cached", "parent")
        return [type(value.loader).__name__, *(repr(getattr(value, name)) for name in names)]
    plain = (str, int, type(None), dict, list, tuple)
    return repr(value) if isinstance(value, plain) and value is not main else type(value).__name__

found = {name: shown(value) for name, value in list(main.items()) if name.startswith("__") and name != "__annotations__"}
found["annotations"] = sorted(sys.modules["__main__"].__annotations__)
found["names"] = [name for name in main if name.startswith("__")]
found["argv"], found["path"], found["sys"] = sys.argv, sys.path, sorted(vars(sys))
print(json.dumps(found))
"""
RUNS = f"""
import sys
sys.path.insert(0, {str(SOURCES)!r})
from depyf.cli.programs.run_program import _prepared
del sys.path[0]
module = sys.argv[1] == "-m"
_prepared(sys.argv[1 + module], sys.argv[2 + module:], module)()
"""
PROGRAMS = (
    ["script.py", "a"], ["./script.py"], ["{here}/script.py"], ["folder"], ["folder/"], ["archive.zip", "b"], ["-m", "script", "c"],
    ["-m", "package"], ["linked.py"], ["below/linked.py"], ["compiled.pyc", "d"],
)  # fmt: skip


@pytest.fixture
def here(tmp_path):
    for name in ("script.py", "folder/__main__.py", "package/__main__.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(SHOWS)
    (tmp_path / "package" / "__init__.py").touch()
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "as_depyf.py").write_text(RUNS)
    with zipfile.ZipFile(tmp_path / "archive.zip", "w") as archive:
        archive.writestr("__main__.py", SHOWS)
    (tmp_path / "below").mkdir()
    os.symlink("script.py", tmp_path / "linked.py")
    os.symlink("../script.py", tmp_path / "below" / "linked.py")
    return tmp_path


@pytest.mark.parametrize("version", ["3.10", "3.11", "3.12", "3.13", "3.14", "3.15"])
def test_as_python_does(here, version):
    python = needs.need(version)

    def said(*command):
        done = subprocess.run([python, *command], cwd=here, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    said("-c", "import py_compile; py_compile.compile('script.py', 'compiled.pyc'); print(1)")
    for program in PROGRAMS:
        program = [part.replace("{here}", str(here)) for part in program]
        assert said("runs/as_depyf.py", *program) == said(*program), program


def test_nothing_to_run(tmp_path):
    (tmp_path / "runs.py").write_text(RUNS)
    (tmp_path / "empty").mkdir()
    for program in ("empty", "missing.py"):
        done = subprocess.run(
            [sys.executable, "runs.py", program], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert f"InputError: cannot read {program}" in done.stderr
