"""The command line: inputs, outputs, exit statuses, and clear errors for bad input."""

from __future__ import annotations

import ast
import importlib.util
import io
import json
import marshal
import os
import py_compile
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import foreign
import needs
from depyf.cli import main
from depyf.cli.command_table import COMMANDS
from depyf.cli.exit_status import ExitStatus
from depyf.decompiler.verify.recompiling import worker
from signals import hear_interrupts

ROOT = Path(__file__).parents[3]
SOURCE = '''\
def double(x):
    """Twice."""
    return x * 2


class Thing:
    def method(self):
        return double(self.x)
'''


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "thing.py"
    path.write_text(SOURCE)
    return path


@pytest.fixture
def pyc(module: Path) -> Path:
    return Path(py_compile.compile(str(module), str(module.with_suffix(".pyc")), doraise=True))


def test_pyc_to_stdout(pyc: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decompile", str(pyc)]) == ExitStatus.PROVEN
    out, err = capsys.readouterr()
    assert out == SOURCE
    assert "code objects" in err


def test_quiet(pyc: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decompile", "-q", str(pyc)]) == ExitStatus.PROVEN
    assert capsys.readouterr() == (SOURCE, "")


def test_stdin(pyc: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(pyc.read_bytes())))
    assert main(["decompile", "-q", "-"]) == ExitStatus.PROVEN
    assert capsys.readouterr().out == SOURCE


def test_json(pyc: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decompile", "--json", str(pyc)]) == ExitStatus.PROVEN
    document = json.loads(capsys.readouterr().out)
    assert document["exit"] == 0
    assert document["summary"]["IDENTICAL"] == 4
    (entry,) = document["files"]
    assert entry["source"] == SOURCE
    assert entry["version"] == f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert [v["qualname"] for v in entry["verdicts"]] == ["<module>", "double", "Thing", "Thing.method"]


def test_folder_keeps_layout(tmp_path: Path, module: Path) -> None:
    tree, out = tmp_path / "tree", tmp_path / "out"
    for name in ("pkg/__pycache__/a.cpython-311.pyc", "pkg/sub/b.pyc", "c.pyc"):
        target = tree / name
        target.parent.mkdir(parents=True, exist_ok=True)
        py_compile.compile(str(module), str(target), doraise=True)
    assert main(["decompile", "-j", "2", "-o", str(out), str(tree)]) == ExitStatus.PROVEN
    written = sorted(path.relative_to(out).as_posix() for path in out.rglob("*.py"))
    assert written == ["c.py", "pkg/a.py", "pkg/sub/b.py"]
    assert (out / "c.py").read_text() == SOURCE


def test_live_object(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decompile", "-q", "textwrap:dedent"]) == ExitStatus.PROVEN
    assert "def dedent(text):" in capsys.readouterr().out


def test_one_function_of_a_file(module: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decompile", "-q", f"{module}:Thing.method"]) == ExitStatus.PROVEN
    assert "return double(self.x)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("target", "complaint"),
    [
        ("no/such/file.pyc", "no such file"),
        ("no_such_module_at_all:x", "cannot import no_such_module_at_all"),
        ("json:no_such_name", "json has no 'no_such_name'"),
        ("math:sqrt", "has no bytecode"),
        ("json:__name__", "has no bytecode"),
    ],
)
def test_unreadable(target: str, complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decompile", target]) == ExitStatus.UNREADABLE
    out, err = capsys.readouterr()
    assert out == ""
    assert complaint in err


@pytest.mark.parametrize("keep", [0, 3, 16, 40])
def test_truncated_pyc(pyc: Path, keep: int, capsys: pytest.CaptureFixture[str]) -> None:
    pyc.write_bytes(pyc.read_bytes()[:keep])
    assert main(["decompile", str(pyc)]) == ExitStatus.UNREADABLE
    assert capsys.readouterr().err.startswith("depyf: ")


def test_not_a_pyc(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "image.pyc"
    path.write_bytes(b"\x89PNG" + bytes(100))
    assert main(["decompile", str(path)]) == ExitStatus.UNREADABLE
    assert "image.pyc" in capsys.readouterr().err


def test_one_bad_file_does_not_sink_the_others(pyc: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decompile", str(pyc), "missing.pyc"]) == ExitStatus.UNREADABLE
    out, err = capsys.readouterr()
    assert SOURCE in out
    assert "missing.pyc" in err


def test_empty_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decompile", str(tmp_path)]) == ExitStatus.UNREADABLE
    assert "no .pyc file" in capsys.readouterr().err


def test_output_folder_that_cannot_be_made(pyc: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decompile", str(pyc), "-o", f"{pyc}/out"]) == ExitStatus.UNREADABLE
    assert "cannot create the output folder" in capsys.readouterr().err


def test_usage_error() -> None:
    with pytest.raises(SystemExit) as caught:
        main(["decompile"])
    assert caught.value.code == ExitStatus.USAGE


def test_no_command_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == ExitStatus.USAGE
    assert "depyf decompile module.pyc" in capsys.readouterr().err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert re.fullmatch(
        r"depyf \S+ \(Python \d+\.\d+\.\d+, (torch \S+|no torch), (pure|compiled)\)\n", capsys.readouterr().out
    )


def test_completion(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for shell in ("bash", "zsh", "tcsh"):
        with pytest.raises(SystemExit) as caught:
            main(["--completion", shell])
        assert caught.value.code == 0
        assert "decompile" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["--completion", "dos"])
    assert "bash, zsh, tcsh" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "shtab", None)
    with pytest.raises(SystemExit):
        main(["--completion", "bash"])
    assert "pip install 'depyf[cli]'" in capsys.readouterr().err


def test_python_that_is_none(pyc: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decompile", str(pyc), "--python", str(pyc)]) == ExitStatus.USAGE
    assert "no CPython answers there" in capsys.readouterr().err


def test_file_is_named_once_and_no_table_of_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "short.pyc"
    path.write_bytes(b"abc")
    assert main(["decompile", str(path)]) == ExitStatus.UNREADABLE
    err = capsys.readouterr().err
    assert err.count("short.pyc") == 1
    assert "code objects" not in err


def test_newer_magic(pyc: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pyc.write_bytes((3999).to_bytes(2, "little") + pyc.read_bytes()[2:])
    assert main(["decompile", str(pyc)]) == ExitStatus.UNREADABLE
    assert "magic number 3999" in capsys.readouterr().err


def test_no_interpreter_of_that_version(
    module: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is shown as proven, and one line says why."""
    version = next((version for version in needs.available() if version != needs.HOST), None)
    if version is None:
        needs.missing("Python but the running one")
    pyc = module.with_suffix(".pyc")
    pyc.write_bytes(foreign.compile_with(version, [module])[0])
    monkeypatch.setattr(worker, "find_interpreter", lambda version: None)
    assert main(["decompile", "-j", "1", str(pyc)]) == ExitStatus.UNPROVEN
    err = capsys.readouterr().err
    assert err.count("to recompile with") == 1
    assert "unverified:" in err


HIDING = "import os, sys\nfor name in os.environ['HIDDEN'].split(): sys.modules[name] = None\n"


def depyf(
    *arguments: object, hidden: str = "", shell: str = "", env: dict[str, str] | None = None, data: bytes | None = None
) -> subprocess.CompletedProcess[bytes]:
    """The command in a process of its own; ``shell``: what is done with its streams; packages ``hidden`` are not there."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "sitecustomize.py").write_text(HIDING)
        path = os.pathsep.join([folder, str(ROOT / "src")])
        environment = {**os.environ, "HIDDEN": hidden, "PYTHONPATH": path, **(env or {})}
        command = [sys.executable, "-m", "depyf", *map(str, arguments)]
        if shell:
            command = ["sh", "-c", shlex.join(command) + " " + shell]
        return subprocess.run(command, capture_output=True, env=environment, check=False, input=data, timeout=300)


def test_without_rich(tmp_path: Path, pyc: Path) -> None:
    """Everything works; there is no progress bar."""
    for arguments in (
        ["--help"],
        ["decompile", "--help"],
        ["decompile", pyc],
        ["decompile", pyc, pyc, "-j", "1"],
        ["disasm", pyc],
    ):
        plain, found = depyf(*arguments, hidden="rich"), depyf(*arguments)
        assert (plain.returncode, plain.stdout, plain.stderr) == (found.returncode, found.stdout, found.stderr)
        assert found.returncode == 0 and found.stdout


@pytest.mark.parametrize("command", [command.name for command in COMMANDS])
def test_every_command_has_an_example_and_its_exit_status(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    text = capsys.readouterr().out
    assert caught.value.code == 0
    assert f"depyf {command} " in text.partition("examples:")[2] and "exit status" in text
    assert all(len(line) <= 130 for line in text.splitlines())


def test_without_torch(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("print('never')")
    found = depyf("run", "--out", tmp_path / "dump", program, hidden="torch")
    assert found.returncode == 3 and found.stdout == b"" and not (tmp_path / "dump").exists()
    (line,) = found.stderr.decode().splitlines()
    assert line.startswith("depyf: ") and "torch 2.6 or newer" in line
    script = (
        "import depyf\nfor f in (depyf.debug, lambda: depyf.prepare_debug('d'), lambda: depyf.why(len), lambda: depyf.replay(len), "
        "lambda: depyf.explain(len), lambda: depyf.explain.dump_src(len), lambda: depyf.compare(len), depyf.install):\n"
        "    try: f().__enter__()\n    except depyf.DepyfError as error: assert 'torch' in str(error)\ndepyf.uninstall()"
    )
    done = subprocess.run(
        [sys.executable, "-c", "import sys; sys.modules['torch'] = None\n" + script], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize(
    "arguments", [["disasm"], ["decompile", "-q"], ["decompile", "--json"], ["passes"], ["--help"]]
)
def test_full_disk(arguments: list[str], pyc: Path) -> None:
    found = depyf(*arguments, *([] if "--help" in arguments else [pyc]), shell="> /dev/full")
    assert found.returncode == ExitStatus.UNREADABLE
    assert found.stderr == b"depyf: standard output cannot be written: No space left on device\n"


@pytest.mark.skipif(os.name != "posix", reason="written for the shell of POSIX")
@pytest.mark.parametrize("shell", ["| true", "| head -1", ">&-", "2>&-", ">&- 2>&-"])
def test_streams_that_end(shell: str, module: Path) -> None:
    module.write_text("x = [1, 2, 3]\n" * 5000)
    for command in (["disasm"], ["decompile", "-q"]):
        found = depyf(*command, module, shell=shell)
        assert found.stderr == b"" and found.returncode == 0, found.stderr


def interrupted(*arguments: object, wait: bytes) -> tuple[int, bytes]:
    """Ctrl-C as a terminal sends it: to the whole process group, once the command has written ``wait``."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "depyf", *map(str, arguments)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, start_new_session=True,
        preexec_fn=hear_interrupts,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        while wait not in (line := process.stdout.readline()):
            assert line, "it ended by itself"
        os.killpg(process.pid, signal.SIGINT)
        return process.wait(300), process.communicate()[1]


@pytest.mark.skipif(os.name != "posix", reason="written for the signals of POSIX")
@pytest.mark.parametrize("jobs", [1, 2])
def test_interrupt(jobs: int, tmp_path: Path) -> None:
    """One line, at once, and no worker goes on."""
    for name in ("a", "b", "c"):
        text = "import time\nprint('begun', flush=True)\ntime.sleep(100)\n"
        (tmp_path / f"slow_{name}.py").write_text(text)
    environment = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = str(tmp_path)
    before = os.getcwd()
    os.chdir(tmp_path)  # an imported module is looked for here first
    try:
        status, err = interrupted("decompile", "-j", jobs, *[f"slow_{name}:x" for name in "abc"], wait=b"begun")
    finally:
        os.chdir(before)
        os.environ["PYTHONPATH"] = environment
    assert (status, err) == (130, b"depyf: interrupted\n")


@pytest.mark.parametrize(("text", "encoding"), [('x = "d\xe9 \u540d \U0001f600"', "ascii"), ('x = "d\xe9 \u540d"', "latin-1"),
    ('def f():\n    """D\xe9."""', "ascii"), ('x = f"{a} \xe9 {b}"', "ascii"), ("d\xe9 = 1", "ascii"), ("d\xe9 = '\u540d'", "latin-1"),
    ("f(\u540d='\xe9')", "ascii"), ("x = f\"{d['\xe9']}\"", "ascii")])  # fmt: skip
def test_terminals_that_lack_letters(text: str, encoding: str, module: Path) -> None:
    """What is written is Python with the same meaning: in the terminal's encoding where that can be, else in UTF-8."""
    module.write_text(text + "\n", encoding="utf-8")
    found = depyf("decompile", "-q", module, env={"PYTHONIOENCODING": encoding})
    assert found.returncode == 0
    shown = found.stdout.decode("utf-8" if found.stderr else encoding)
    assert ast.dump(ast.parse(shown)) == ast.dump(ast.parse(text))
    assert not found.stderr or b"UTF-8" in found.stderr
    for command in ("disasm", "passes"):
        found = depyf(command, module, env={"PYTHONIOENCODING": encoding})
        assert found.returncode == 0 and found.stderr == b"" and found.stdout.decode(encoding)


# Names of files and of code


def pyc_at(path: Path, text: str = SOURCE, **changes: object) -> Path:
    code = compile(text, "f.py", "exec").replace(**changes)  # type: ignore[arg-type]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
    return path


def test_two_inputs_of_one_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is written where one would overwrite the other, on any file system."""
    pairs = [("a/x.pyc", "b/x.pyc"), ("a/x.pyc", "a/__pycache__/x.cpython-311.pyc"), ("a/x.pyc", "b/X.pyc"), ("a/\xe9.pyc", "b/e\u0301.pyc"),
             ("a", "b")]  # fmt: skip
    for number, pair in enumerate(pairs):
        out = tmp_path / f"out{number}"
        inputs = [tmp_path / str(number) / name for name in pair]
        for path in inputs:
            pyc_at(path if path.suffix else path / "__init__.pyc")
        assert main(["decompile", "-q", "-o", str(out), *map(str, inputs)]) == ExitStatus.USAGE
        assert "would both be written" in capsys.readouterr().err
        assert not out.exists()


def test_one_folder_with_two_of_a_name(tmp_path: Path) -> None:
    for name in (
        "x.pyc",
        "__pycache__/x.cpython-311.pyc",
        "__pycache__/x.cpython-312.pyc",
        "X.pyc",
        "__pycache__/x.pyc",
    ):
        pyc_at(tmp_path / "in" / name)
    assert main(["decompile", "-q", "-j", "1", "-o", str(tmp_path / "out"), str(tmp_path / "in")]) == 0
    written = [path.name for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert len({name.casefold() for name in written}) == len(written) == 5, written


HOSTILE = "a\n\x1b[31mb\u202ec"


def test_names_of_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in (HOSTILE, "\u540d" * 66, "x" * 240, "con", "a:b?"):
        try:
            pyc_at(tmp_path / "in" / f"{name}.pyc")
        except OSError:
            continue  # this file system does not take it
    assert main(["decompile", "-q", "-j", "1", "-o", str(tmp_path / "out"), str(tmp_path / "in")]) == 0
    written = [path.name for path in (tmp_path / "out").iterdir()]
    assert len(written) == len(list((tmp_path / "in").iterdir()))
    for name in written:
        assert name.isprintable() and len(name.encode()) <= 255 and not set(name) & set(':?"<>|*') and name != "con.py"
    broken = tmp_path / "in" / f"{HOSTILE}.pyc"
    broken.write_bytes(b"")
    assert main(["decompile", str(tmp_path / "in"), "-j", "1"]) == ExitStatus.UNREADABLE
    out, err = capsys.readouterr()
    assert all(line.isprintable() for line in (out + err).splitlines())
    assert (
        main(["disasm", str(broken)])
        == main(["passes", str(broken)])
        == main(["decompile", f"{broken}x"])
        == ExitStatus.UNREADABLE
    )
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 3 and all(line.isprintable() for line in err.splitlines())


def test_names_in_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every line that is printed of a file whose names are hostile: none moves the cursor or begins a line of its own."""
    inner = compile("def f(a, *b): return a.b", "f.py", "exec").co_consts[0]
    inner = inner.replace(co_name=HOSTILE, co_varnames=(HOSTILE, "b"), co_names=(HOSTILE,), co_filename=HOSTILE)
    if hasattr(inner, "co_qualname"):
        inner = inner.replace(co_qualname=HOSTILE)
    path = pyc_at(
        tmp_path / "x.pyc",
        "def f(a): return a",
        co_names=(HOSTILE,),
        co_filename=HOSTILE,
        co_consts=(inner, HOSTILE, None),
    )
    for command in (["decompile"], ["disasm"], ["passes"], ["decompile", "--json"]):
        main([*command, str(path)])
        out, err = capsys.readouterr()
        assert out or err
        for line in (out + err).split("\n"):
            assert line.replace("\t", "").isprintable(), (command, line)
            assert not line.startswith("\x1b") and "\u202e" not in line


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes in folders")
@pytest.mark.parametrize("command", ["decompile", "disasm", "passes"])
def test_inputs_that_are_no_files(command: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.pyc")
    (tmp_path / "empty.pyc").write_bytes(b"")
    (tmp_path / "text.pyc").write_text("no bytecode")
    (tmp_path / "nulls.py").write_bytes(b"x = 1\0")
    (tmp_path / "deep.py").write_text("x = " + "(" * 5000)
    for name in (
        "pipe.pyc",
        "empty.pyc",
        "text.pyc",
        "nulls.py",
        "deep.py",
        "missing.pyc",
        "missing.pyc:f",
        "empty.pyc:f",
        "\x1b[31m",
    ):
        found = depyf(command, tmp_path / name)
        assert found.returncode == ExitStatus.UNREADABLE and found.stdout == b"", name
        (line,) = found.stderr.decode().splitlines()
        assert line.startswith("depyf: ") and line.isprintable(), name


def test_a_source_file_that_the_code_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``disasm`` shows source lines, of ordinary Python files only: a ``.pyc`` may name any file."""
    secret = tmp_path / "secret"
    secret.write_text("secret words\n")
    assert main(["disasm", str(pyc_at(tmp_path / "x.pyc", co_filename=str(secret)))]) == 0
    assert "secret words" not in capsys.readouterr().out
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.py")
        found = depyf("disasm", pyc_at(tmp_path / "x.pyc", co_filename=str(tmp_path / "pipe.py")))
        assert found.returncode == 0


def test_output_through_links(tmp_path: Path, pyc: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, precious = tmp_path / "out", tmp_path / "precious"
    out.mkdir()
    precious.write_text("precious")
    (out / "thing.py").symlink_to(precious)
    assert main(["decompile", "-q", "-o", str(out), str(pyc)]) == 0
    assert precious.read_text() == "precious" and (out / "thing.py").read_text() == SOURCE
    pyc_at(tmp_path / "in" / "sub" / "x.pyc")
    (tmp_path / "outside").mkdir()
    (out / "sub").symlink_to(tmp_path / "outside")
    assert main(["decompile", "-q", "-o", str(out), str(tmp_path / "in")]) == ExitStatus.UNREADABLE
    assert "symbolic link" in capsys.readouterr().err and not list((tmp_path / "outside").iterdir())


def test_modules_that_end_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "ends_here.py").write_text("raise SystemExit(0)")
    monkeypatch.chdir(tmp_path)
    assert main(["decompile", "ends_here:x"]) == ExitStatus.UNREADABLE
    assert "cannot import ends_here: SystemExit" in capsys.readouterr().err


def test_a_bug_of_ours_is_one_line(
    pyc: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("depyf.cli.on_bytecode.disasm.listing", lambda unit: 1 / 0)
    assert main(["disasm", str(pyc)]) == ExitStatus.FAILED
    assert capsys.readouterr().err == "depyf: internal error, please report it: ZeroDivisionError: division by zero\n"


def test_disasm(module: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["disasm", f"{module}:double"]) == 0
    out = capsys.readouterr().out
    assert "return x * 2" in out
    assert "BINARY" in out


WITH_REWRITES = """
def f(a, b, c):
    assert a, b
    for x in a:
        if b and c or x:
            return x
    else:
        try:
            b()
        finally:
            c()
    with a, b:
        c = 1 if a else 2
    del a, b
"""


@pytest.mark.parametrize("rung", ["READABLE", "TOTAL", "INLINED"])
def test_dump_of_rewrites(rung: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``--steps`` numbers the rewrites inside each pass, and ``--step N.M`` stops the Nth after the Mth of them."""
    path = tmp_path / "rewritten.py"
    path.write_text(WITH_REWRITES)
    command = ["passes", f"{path}:f", "--rung", rung]
    assert main([*command, "--steps"]) == 0
    listed = capsys.readouterr().out
    passes = [line.split() for line in listed.splitlines()]
    rewrites = [words for words in passes if "." in words[0]]
    assert len(rewrites) > 8 and len({words[0] for words in rewrites}) == len(rewrites)
    for told in ("recognise the exit of a with", "make an assert of a test that raises: assert a, b"):
        assert told in listed
    for number, *said in rewrites:
        assert main([*command, "--step", number]) == 0
        first, *rest = capsys.readouterr().out.splitlines()
        name = next(words[1] for words in passes if words[0] == number.partition(".")[0])
        assert first == f"=== {number}: {name}: {' '.join(said)}" and rest
    assert main([*command, "--step", "1.99"]) == ExitStatus.UNREADABLE
    assert "has 0 rewrites" in capsys.readouterr().err


def test_a_pass_stopped_after_its_first_rewrite_has_made_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is edited in place shows the first of two ``with`` without its exit, the second with it."""
    path = tmp_path / "rewritten.py"
    path.write_text("def f(a, b):\n    with a:\n        b()\n    with b:\n        a()\n")
    left = {}
    for number in ("3.1", "3.2", "3"):
        assert main(["passes", f"{path}:f", "--step", number]) == 0
        left[number] = capsys.readouterr().out
    assert "3.2: regions: recognise the exit of a with" in left["3.2"]
    assert left["3.1"].count("WITH_EXIT") < left["3.2"].count("WITH_EXIT")


@pytest.mark.parametrize("rung", ["readable", "TOTAL_CLAUSES", "inlined"])
def test_dump(rung: str, module: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All passes, one, a list of those that change something, and what there is after the Nth of these."""
    command = ["passes", f"{module}:double", "--rung", rung]
    assert main([*command, "--list"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert names[0] == "lower"
    assert main(command) == 0
    everything = capsys.readouterr().out
    assert main([*command, "--steps"]) == 0
    steps = [line for line in capsys.readouterr().out.splitlines() if "." not in line.split()[0]]
    assert len(steps) == everything.count("=== ") > 5
    for number, line in enumerate(steps, 1):
        name = line.split()[1]
        assert line.split()[0] == str(number) and name in names
        assert main([*command, "--after", name]) == 0
        shown = capsys.readouterr().out
        assert f"=== {name}\n{shown}" in everything
        assert main([*command, "--step", str(number)]) == 0
        assert capsys.readouterr().out == f"=== {number}: {name}\n{shown}"
    for wrong, told in ((["--after", "nonsense"], "there are:"), (["--step", "99"], f"has {len(steps)}")):
        assert main([*command, *wrong]) == ExitStatus.UNREADABLE
        assert told in capsys.readouterr().err
    assert main(["passes", f"{module}:double", "--rung", "nonsense"]) == ExitStatus.UNREADABLE
    assert "READABLE" in capsys.readouterr().err


def test_as_a_program(pyc: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "depyf", "decompile", pyc], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, SOURCE)
