"""``depyf open``: what torch saved is shown without loading it, and damaged files give clear errors."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from depyf.actions.opened.open_file import opened
from depyf.cli import main
from depyf.cli.exit_status import ExitStatus
from depyf.errors import DepyfError
from tools.fuzz import artefacts

pytest.importorskip("torch._dynamo.aot_compile")
pytestmark = pytest.mark.torch


def scaled(x, by=2, *, shift=0.5):
    if x.shape[0] > 2:
        x = x.sin() * by
    return x + shift


def joined(items):
    if not all(isinstance(one, torch.Tensor) for one in items):
        raise TypeError(f"no tensors: {items}")
    return torch.cat(items)


def saved(path: Path, function=scaled, backend="aot_eager", **options) -> Path:
    compiled = torch.compile(function, fullgraph=True, backend=backend, **options)
    compiled.aot_compile(((torch.ones(4, 3),), {})).save_compiled_function(str(path))
    return path


@pytest.fixture(scope="module")
def aot(tmp_path_factory) -> Path:
    return saved(tmp_path_factory.mktemp("saved") / "scaled.aot")


def test_all_of_a_saved_function(aot, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["open", str(aot), "-o", str(out)]) == ExitStatus.PROVEN
    assert "a function that was compiled ahead of time" in capsys.readouterr().out
    original = (out / "original_code.scaled.py").read_text()
    assert "x = x.sin() * by\n    return x + shift" in original
    assert "def scaled(x, by, *, shift):" in original
    made = (out / "runtime_env.bytecode.scaled.py").read_text()
    assert "return __compiled_fn_" in made
    guards = (out / "guards.txt").read_text()
    assert "L['by'] == 2" in guards
    assert "TENSOR_MATCH of x" in guards
    assert f"needed by {__file__}:" in guards
    assert "torch.ops.aten.sin.default" in (out / "compiled_fn.aot_forward_graph_str.py").read_text()
    index = (out / "index.md").read_text()
    assert "signature: `(x, by=2, *, shift=0.5)`" in index
    assert f"torch: `{torch.__version__}`" in index
    assert "size (4, 3)" in index
    assert "torch._dynamo.guards.GuardsState" in (out / "loading.txt").read_text()
    for line in index.splitlines():
        if line.startswith("| ["):
            assert (out / line[3:].partition("]")[0]).is_file()


def test_code_with_code_in_it_has_the_weaker_verdict(tmp_path):
    """The generator is identical, what has it is equivalent."""
    compiled = torch.compile(joined, fullgraph=True, backend="aot_eager").aot_compile((([torch.ones(2)],), {}))
    compiled.save_compiled_function(str(tmp_path / "f"))
    index = opened((tmp_path / "f").read_bytes(), "f").files["index.md"]
    (line,) = (line for line in index.splitlines() if line.startswith("| [original_code"))
    assert line.endswith("| `joined` | equivalent |")


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x):
        return self.linear(x)


def test_guards_are_in_the_index_in_the_words_of_the_program(tmp_path):
    """torch's text has the address of a class."""
    compiled = torch.compile(Net().forward, fullgraph=True, backend="aot_eager").aot_compile(((torch.ones(3),), {}))
    compiled.save_compiled_function(str(tmp_path / "f"))
    files = opened((tmp_path / "f").read_bytes(), "f").files
    assert "___check_type_id(L['self'], " in files["guards.txt"]
    assert f"- `type_is(self, '{__name__}.Net')`" in files["index.md"] and "___check" not in files["index.md"]


def test_the_text_among_the_files_of_aotinductor(tmp_path):
    """torch keeps what it wrote by path, the library beside it."""
    from torch._inductor.output_code import CompiledAOTI

    made = CompiledAOTI.__new__(CompiledAOTI)
    made.__dict__.update(_cached_files={
        "/tmp/a/chash.wrapper.cpp": b"#include <torch.h>\n\nvoid run() {\n\n\n}\n",
        "/tmp/b/chash.kernel.cpp": b"// one\n\nvoid kernel() {\n\n}\n",
        "/tmp/a/chash.wrapper.so": b"\x7fELF\xff\xfe" + bytes(50),
    })  # fmt: skip
    files = opened(pickle.dumps({"compiled_fw": made}), "f").files
    assert files["compiled_fw.wrapper_cpp.cpp"].startswith("#include <torch.h>")
    assert "void kernel()" in files["compiled_fw.kernel_cpp.cpp"]
    assert not [name for name in files if "_so" in name]
    assert "the C++ that AOTInductor wrote around its kernels" in files["index.md"]


def test_conditions_on_sizes_have_torchs_reasons(tmp_path):
    files = opened(saved(tmp_path / "f", dynamic=True).read_bytes(), "f").files
    assert "3 <= L['x'].size()[0]  # if x.shape[0] > 2:" in files["guards.txt"]


def test_what_inductor_wrote(tmp_path):
    files = opened(saved(tmp_path / "f", backend="inductor").read_bytes(), "f").files
    assert "async_compile" in files["compiled_fn.compiled_fw.result.source_code.py"]
    assert "torch.ops.aten.sin" in files["compiled_fn.compiled_fw.result.inductor_post_grad_graph_str.py"]


def test_a_closure(tmp_path):
    weight = torch.ones(3, 2)

    def multiplied(x):
        return (x @ weight).sum()

    files = opened(saved(tmp_path / "f", multiplied).read_bytes(), "f").files
    (original,) = (text for name, text in files.items() if name.startswith("original_code"))
    assert "return (x @ weight).sum()" in original


def test_several_in_one_file(aot):
    """As ``AOTCompiledModel.serialize`` writes those of a module."""
    found = opened(pickle.dumps([aot.read_bytes(), saved(aot.with_suffix(".more"), dynamic=True).read_bytes()]), "f")
    assert "2 pickles" in found.kind
    assert {"0.original_code.scaled.py", "1.original_code.scaled.py"} < found.files.keys()
    guards = found.files["guards.txt"]
    assert guards.index("== 0.guards_state") < guards.index("L['by'] == 2") < guards.index("== 1.guards_state")


def test_torch_is_not_needed(aot):
    program = (
        "import sys\nfrom pathlib import Path\nfrom depyf.actions.opened.open_file import open_saved\n"
        "found = open_saved(Path(sys.argv[1]))\nassert 'torch' not in sys.modules\nprint(len(found.unproven))"
    )
    done = subprocess.run([sys.executable, "-c", program, str(aot)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"


def test_caches_of_torch(tmp_path, monkeypatch, capsys):
    program = "import torch\ntorch.compile(lambda x: x.cos() + 1)(torch.ones(5))"
    cache = tmp_path / "cache"
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(cache))
    monkeypatch.setenv("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "0")
    subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    out = tmp_path / "out"
    assert main(["open", str(cache), "-o", str(out)]) == ExitStatus.PROVEN
    told = capsys.readouterr().out
    assert "an entry of torch's cache of compiled graphs" in told
    assert "an entry of torch's cache of AOTAutograd" in told
    assert any("cos" in page.read_text() for page in out.rglob("source_code.py"))


def test_a_folder_with_other_files_is_refused(aot, tmp_path, capsys):
    (tmp_path / "mine.txt").write_text("mine")
    assert main(["open", str(aot), "-o", str(tmp_path)]) == ExitStatus.UNREADABLE
    assert "holds other files, such as mine.txt" in capsys.readouterr().err
    assert [entry.name for entry in tmp_path.iterdir()] == ["mine.txt"]


def test_which_python_wrote_it(aot):
    """Where the file does not say it, nothing is guessed."""
    state = aot.read_bytes().replace(b"python_version", b"python_versiom")
    found = opened(state, "f")
    assert "--version X.Y" in found.files["index.md"]
    assert len(found.unproven) == 2
    assert not opened(state, "f", sys.version_info[:2]).unproven


def test_code_that_is_none(aot):
    """Bytecode that is damaged has no text; all else is shown."""
    data = aot.read_bytes()
    at = data.index(b"co_code") + 12
    found = opened(data[:at] + b"\xff" * 40 + data[at + 40 :], "f")
    assert len(found.unproven) == 1
    assert "L['by'] == 2" in found.files["guards.txt"]


def test_truncated_files(aot):
    data = aot.read_bytes()
    for size in {*range(0, len(data), 97), len(data) - 1}:
        with pytest.raises(DepyfError):
            opened(data[:size], "f")


def test_damaged_files(aot):
    """A part of ``python -m tools.fuzz.artefacts``."""
    data = aot.read_bytes()
    outcomes = {artefacts.outcome(artefacts.mutated(data, seed)) for seed in range(300)}
    assert outcomes == {"texts", "clear error"}


class Canary:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_nothing_is_executed(aot, tmp_path):
    path = tmp_path / "canary"
    data = pickle.dumps([Canary(path), aot.read_bytes(), pickle.dumps(Canary(path))])
    (tmp_path / "f").write_bytes(data)
    assert main(["open", str(tmp_path / "f"), "-o", str(tmp_path / "out")]) == ExitStatus.PROVEN
    assert not path.exists()
    assert "open" in (tmp_path / "out" / "loading.txt").read_text()
    pickle.loads(data)[0].close()
    assert path.exists()


@pytest.mark.parametrize("content", [b"", b"text", b"PK\x03\x04", b"\x80\x04\x95"])
def test_other_files(content, tmp_path, capsys):
    (tmp_path / "f").write_bytes(content)
    assert main(["open", str(tmp_path / "f"), "-o", str(tmp_path / "out")]) == ExitStatus.UNREADABLE
    assert capsys.readouterr().err.startswith("depyf: f: ")
    assert not (tmp_path / "out").exists()


def test_no_file(tmp_path, capsys):
    assert main(["open", str(tmp_path / "none"), "-o", str(tmp_path / "out")]) == ExitStatus.UNREADABLE
    assert main(["open", str(tmp_path), "-o", str(tmp_path / "out")]) == ExitStatus.UNREADABLE
