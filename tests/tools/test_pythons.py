"""``make pythons`` says of each interpreter where it is, how it was installed, or what was tried in vain."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from depyf.decompiler.verify.recompiling.interpreters import find_interpreter, version_of
from tools.env import interpreters, pythons

HOST = f"{sys.version_info[0]}.{sys.version_info[1]}"
OTHER = next(version for version in interpreters.VERSIONS if version != HOST)


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A machine with the running interpreter, and nothing to install another with; its folder of commands."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for name in ("PYENV_ROOT", "UV_PYTHON_INSTALL_DIR", "DEPYF_PYTHONS"):
        monkeypatch.setenv(name, str(tmp_path / name))
    find_interpreter.cache_clear()
    yield tmp_path / "bin"
    find_interpreter.cache_clear()
    version_of.cache_clear()


def command(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{text}\n")
    path.chmod(0o755)


def installer(place: str) -> str:
    """A command that writes an interpreter which answers with the version in the last argument."""
    return (
        f'for version; do :; done; file="{place}"; mkdir -p "$(dirname "$file")"\n'
        'printf "#!/bin/sh\\necho $version\\n" > "$file"; chmod +x "$file"'
    )


def test_nothing_can_be_installed(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert pythons.main([]) == 1
    out, err = capsys.readouterr()
    lines = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert list(lines) == list(interpreters.VERSIONS)
    assert lines[HOST].endswith("(was here)")
    assert lines[OTHER] == (
        "NOT FOUND, and not installed: uv: uv is not on the PATH; pyenv: pyenv is not on the PATH; Debian: "
        + ("apt-get and dpkg-deb not on the PATH" if OTHER in pythons.SUITES else "no release of Debian has it")
    )
    assert all(f"python{version}" in err for version in interpreters.VERSIONS if version != HOST)
    assert f"python{HOST}" not in err and "Install uv or pyenv" in err


@pytest.mark.parametrize(
    ("tool", "place"),
    [
        ("uv", "$UV_PYTHON_INSTALL_DIR/cpython-$version.1-linux/bin/python$version"),
        ("pyenv", "$PYENV_ROOT/versions/$version.1/bin/python$version"),
    ],
)
def test_an_installer_that_is_there_is_used(
    tool: str, place: str, bare: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command(bare / tool, installer(place))
    assert pythons.main([OTHER, HOST]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith(OTHER) and first.endswith(f"/python{OTHER} (installed by {tool})")
    assert second.startswith(HOST) and second.endswith("(was here)")


def test_pyenv_that_is_not_on_the_path(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command(
        Path(os.environ["PYENV_ROOT"], "bin", "pyenv"), installer("$PYENV_ROOT/versions/$version.1/bin/python$version")
    )
    assert pythons.main([OTHER]) == 0
    assert "installed by pyenv" in capsys.readouterr().out


def test_what_an_installer_says_is_passed_on(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command(bare / "uv", "echo 'error: no network'; echo; exit 2")
    command(bare / "pyenv", "exit 0")
    assert pythons.main([OTHER]) == 1
    out = capsys.readouterr().out
    assert f"uv: error: no network; pyenv: did not fail, but no python{OTHER} answers; Debian: " in out


@pytest.mark.skipif(HOST == "3.9", reason="3.9 is the running one")
def test_packages_of_debian_are_unpacked_and_started(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By their own loader where that can be told a name, else by the machine's own; a half unpacked folder is not left."""
    packages = {
        "python": ('mkdir -p "$root/usr/bin"; printf "#!/bin/sh\\necho 3.9\\n" > "$root/usr/bin/python3.9"; '
                   'chmod +x "$root/usr/bin/python3.9"'),
        "loader": ('mkdir -p "$root/lib64"; printf "#!/bin/sh\\nexit 1\\n" > "$root/lib64/ld-linux-x86-64.so.2"; '
                   'chmod +x "$root/lib64/ld-linux-x86-64.so.2"'),
    }  # fmt: skip
    command(bare / "apt-get", 'case "$*" in *install*|*download*) touch python.deb loader.deb;; esac')
    command(
        bare / "dpkg-deb",
        f'root="$3"; case "$2" in */python.deb) {packages["python"]};; *) {packages["loader"]};; esac',
    )
    assert pythons.main(["3.9"]) == 0
    assert "installed by Debian" in capsys.readouterr().out
    ours = Path(os.environ["DEPYF_PYTHONS"])
    assert sorted(path.name for path in ours.iterdir()) == ["bin", "debian-bullseye-3.9"]
    command(bare / "dpkg-deb", "echo 'dpkg-deb: error: disk full'; exit 2")
    (ours / "bin" / "python3.9").unlink()
    find_interpreter.cache_clear()
    version_of.cache_clear()
    assert pythons.main(["3.9"]) == 1
    assert "disk full" in capsys.readouterr().out
    assert sorted(path.name for path in ours.iterdir()) == ["bin", "debian-bullseye-3.9"]


def test_versions_that_are_none(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        pythons.main(["2.7"])
    assert "not a version from 3.8 to 3.15: 2.7" in capsys.readouterr().err


def test_the_first_error_of_a_command_is_told() -> None:
    """What follows it is its consequence."""
    said = (
        "Err:1 http://mirror InRelease\nE: Failed to fetch http://mirror  Temporary failure\nE: Some index files failed"
    )
    with pytest.raises(pythons.CannotError, match=r"^E: Failed to fetch http://mirror  Temporary failure$"):
        pythons.ran(["sh", "-c", f"printf '{said}'; exit 100"])
