"""``depyf export``: packages that run in a process without depyf, agree with eager mode, and say what they lack."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from export_programs import Broken, containers, programs

import with_torch
from depyf.api import prepare_debug
from depyf.cli import main as command
from depyf.export import ExportError, export_package

pytestmark = pytest.mark.torch

PROGRAMS = (
    "broken",
    "convolutions",
    "attention",
    "recurrent",
    "experts",
    "autoencoder",
    "toy",
    "containers",
    "counter",
    "mixed",
)
HOOKS = "from torch.nn.functional import gelu as settings_activation\nmode = 'any object, as long as it is this one'\n"
WITHOUT_DEPYF = "import sys, runpy; sys.path.insert(0, ''); sys.modules['depyf'] = None; "


def in_a_new_process(folder: Path, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``program`` in an interpreter that cannot import depyf: ``DEPYF_EXPORT_PYTHON``, which has torch, or this one."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [os.environ.get("DEPYF_EXPORT_PYTHON", sys.executable), "-c", WITHOUT_DEPYF + program, *arguments]
    if command[0] == sys.executable:
        return with_torch.run(command, cwd=folder, env=environment, imports=with_torch.ALONE)
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def dumped(tmp_path: Path, name: str, record: bool = True) -> str:
    """The dump of a program; the name of its function."""
    function, run = programs()[name]
    torch._dynamo.reset()
    with prepare_debug(tmp_path / "dump", record=record):
        run(lambda fn: torch.compile(fn, backend="eager"))
    return function


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_eager_mode(name, tmp_path):
    function = dumped(tmp_path, name)
    package = export_package(tmp_path / "dump", tmp_path / name, function)
    assert package.notes == []
    (tmp_path / "filled.py").write_text(HOOKS)
    run = (
        f"sys.argv[:] = ['x', '--hooks', 'filled.py']; runpy.run_module({name!r}, run_name='__main__', alter_sys=True)"
    )
    done = in_a_new_process(tmp_path, run)
    assert done.returncode == 0, done.stdout + done.stderr
    calls = [line for line in done.stdout.splitlines() if line.startswith("ok")]
    assert (
        calls
        and f"{len(calls)} call{'s' if len(calls) > 1 else ''}: {len(calls)} as in eager mode, 0 not" in done.stdout
    )
    if name in ("broken", "convolutions", "attention", "recurrent"):
        assert "gradients" in done.stdout


def test_same_bytes_and_no_leftovers(tmp_path):
    function = dumped(tmp_path, "broken")

    def files() -> dict[str, bytes]:
        return {str(p.relative_to(tmp_path)): p.read_bytes() for p in (tmp_path / "net").rglob("*") if p.is_file()}

    export_package(tmp_path / "dump", tmp_path / "net", function)
    first = files()
    (tmp_path / "net" / "graphs" / "graph_9_9.py").write_text("of an export before")
    export_package(tmp_path / "dump", tmp_path / "net", function)
    assert files() == first
    export_package(tmp_path / "dump", tmp_path / "net_again", function)
    other = {p.name: p.read_text() for p in (tmp_path / "net_again").glob("*.py")}
    assert all(text.replace("net_again", "net") == first[f"net/{name}"].decode() for name, text in other.items())


def test_parameters_by_name(tmp_path):
    """A state_dict of the program's model goes into the package's."""
    function = dumped(tmp_path, "broken")
    export_package(tmp_path / "dump", tmp_path / "net", function)
    torch.manual_seed(5)
    model = Broken().eval()
    torch.save(model.state_dict(), tmp_path / "weights.pt")
    model.train()
    x = torch.randn(3, 4)
    torch.save(x, tmp_path / "x.pt")
    torch.manual_seed(7)
    want = model(x)["logits"]
    done = in_a_new_process(
        tmp_path,
        "import torch, net; state = torch.load('weights.pt'); model = net.load(state); torch.manual_seed(7); "
        "out = model(torch.load('x.pt')); torch.save(out['logits'].detach(), 'out.pt'); print(sorted(model.state_dict()) == sorted(state)); "
        "state.pop('head.bias')\ntry: net.load(state)\nexcept KeyError as error: print(error)",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1:] == ["True", "'the state_dict lacks head.bias'"]
    assert torch.allclose(want, torch.load(tmp_path / "out.pt"))


def test_arguments_that_fit_no_entry(tmp_path):
    function = dumped(tmp_path, "toy")
    export_package(tmp_path / "dump", tmp_path / "net", function)
    done = in_a_new_process(tmp_path, "import torch, net; net.toy(torch.randn(4, 4), torch.randn(4))")
    assert "NoEntry: toy() was compiled for other arguments" in done.stderr
    assert "  0_0: check_tensor(L['a'], 'Tensor', torch.float32, size=[4]" in done.stderr


def test_what_is_not_filled_in(tmp_path):
    """A hook is listed, is an error with its name where it is needed, and is used once it is there."""
    function = dumped(tmp_path, "containers")
    package = export_package(tmp_path / "dump", tmp_path / "net", function)
    assert package.wanted == ("mode", "settings_activation")
    readme = (tmp_path / "net" / "README.md").read_text()
    assert "- `net.hooks.settings_activation`: `settings.activation: builtin_function_or_method" in readme
    done = in_a_new_process(tmp_path, "runpy.run_module('net', run_name='__main__', alter_sys=True)")
    assert done.returncode == 3
    assert (
        "net.hooks.settings_activation is not filled in: settings.activation: builtin_function_or_method" in done.stdout
    )


def test_a_way_that_no_call_took(tmp_path):
    function = dumped(tmp_path, "toy")
    package = export_package(tmp_path / "dump", tmp_path / "net", function)
    (missing, *_) = [name for name in package.wanted if name.startswith("resume_at_")]
    done = in_a_new_process(tmp_path, "import torch, net; net.toy(torch.randn(6), -torch.ones(6))")
    assert f"MissingHook: net.hooks.{missing[:10]}" in done.stderr
    assert "a way that no call took while it was recorded" in done.stderr


def test_without_recorded_inputs(tmp_path):
    """Tensors are made up, and the package says so."""
    function = dumped(tmp_path, "recurrent", record=False)
    export_package(tmp_path / "dump", tmp_path / "net", function)
    done = in_a_new_process(tmp_path, "runpy.run_module('net', run_name='__main__', alter_sys=True)")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "made-up values: self.cell.bias_hh" in done.stdout


def test_a_wrong_graph_is_noticed(tmp_path):
    function = dumped(tmp_path, "recurrent")
    export_package(tmp_path / "dump", tmp_path / "net", function)
    path = tmp_path / "net" / "graphs" / "graph_0_0.py"
    text = path.read_text()
    assert text.count("return (") == 1
    path.write_text(text.replace("return (", "return (1.01 * "))
    done = in_a_new_process(tmp_path, "runpy.run_module('net', run_name='__main__', alter_sys=True)")
    assert done.returncode == 1
    assert "it differs in result" in done.stdout


def test_from_the_command_line(tmp_path, capsys):
    function = dumped(tmp_path, "containers")
    assert command(["export", str(tmp_path / "dump"), "-o", str(tmp_path / "net"), "--function", function]) == 0
    captured = capsys.readouterr()
    assert "containers is in" in captured.out
    assert "to fill in: hooks.mode" in captured.err
    for arguments, message in (
        (["-o", str(tmp_path / "a-b")], "is no name of a package"),
        (["-o", str(tmp_path / "net"), "--function", "nothing"], "no function called 'nothing'; there are containers"),
        (["-o", str(tmp_path / "dump")], "holds files that depyf export did not write"),
    ):
        assert command(["export", str(tmp_path / "dump"), *arguments]) == 4
        assert message in capsys.readouterr().err


def test_the_function_must_be_named_where_there_are_several(tmp_path):
    torch._dynamo.reset()
    with prepare_debug(tmp_path / "dump"):
        torch.compile(lambda x: x + 1, backend="eager")(torch.randn(3))
        torch.compile(containers, backend="eager")
        torch.compile(lambda y: y * 2, backend="eager")(torch.randn(3))
    with pytest.raises(ExportError, match="it holds more than one compiled function: name one with --function"):
        export_package(tmp_path / "dump", tmp_path / "net")


def test_functions_that_ran_as_ordinary_python_are_not_in_question(tmp_path):
    def looped(x):
        for _ in range(2):
            x = inner(x)
            torch._dynamo.graph_break()
        return x

    def inner(x):
        return x.sin() + 1

    torch._dynamo.reset()
    with prepare_debug(tmp_path / "dump", record=True):
        torch.compile(looped, backend="eager")(torch.randn(3))
    pages = [path.name for path in (tmp_path / "dump").glob("full_code_for_*.py")]
    assert len(pages) == 2
    export_package(tmp_path / "dump", tmp_path / "net")
    assert "inner" in (tmp_path / "net" / "functions.py").read_text()


def scaled(x, w):
    y = (x * 2 + w).relu()
    torch._dynamo.graph_break()
    return y.sum(0), y * w


def test_kernels_are_files(tmp_path):
    """Inductor's wrappers run in the place of graphs without a backward, each kernel from its file."""
    torch._dynamo.reset()
    with prepare_debug(tmp_path / "dump", record=True):
        torch.compile(scaled, backend="inductor")(torch.randn(4, 3), torch.randn(4, 3))
    package = export_package(tmp_path / "dump", tmp_path / "net", "scaled", kernels=True)
    assert all(note.startswith("The code in kernels/ is of torch") for note in package.notes), package.notes
    kernels = sorted((tmp_path / "net" / "kernels").glob("graph_*/*.cpp"))
    assert kernels and all('extern "C"' in path.read_text() for path in kernels)
    assert 'extern "C"' not in (tmp_path / "net" / "kernels" / "graph_0_0.py").read_text()
    done = in_a_new_process(tmp_path, "runpy.run_module('net', run_name='__main__', alter_sys=True)")
    assert done.returncode == 0, done.stdout + done.stderr
    text = kernels[0].read_text()
    kernels[0].write_text(text.replace("static_cast<float>(2.0)", "static_cast<float>(3.0)"))
    assert kernels[0].read_text() != text
    done = in_a_new_process(tmp_path, "runpy.run_module('net', run_name='__main__', alter_sys=True)")
    assert done.returncode == 1 and "it differs in result" in done.stdout


def test_a_graph_with_a_backward_stays_a_graph(tmp_path):
    torch._dynamo.reset()
    with prepare_debug(tmp_path / "dump"):
        torch.compile(scaled, backend="aot_eager")(torch.randn(4, 3, requires_grad=True), torch.randn(4, 3))
    package = export_package(tmp_path / "dump", tmp_path / "net", "scaled", kernels=True)
    assert "graph_0_0 runs as its captured graph: Inductor wrote no code for it." in package.notes
    assert not (tmp_path / "net" / "kernels").exists()
