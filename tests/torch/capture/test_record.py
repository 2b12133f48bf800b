"""``prepare_debug(record=...)``: the first inputs of each graph, as the program gave them."""

from __future__ import annotations

import json
import subprocess
import sys
import weakref

import pytest
import torch

import depyf
import with_torch
from depyf.run.recorded.recorded_inputs import Recorded, RecordedInput, read_recorded

pytestmark = pytest.mark.torch


def recorded(folder) -> dict[str, Recorded]:
    """Compile id -> what was recorded for its graph; all that is on disk is in the manifest."""
    items = [i for i in json.loads((folder / "manifest.json").read_text())["files"] if i["kind"] == "recorded_inputs"]
    assert {item["file"] for item in items} == {path.name for path in folder.glob("*.safetensors")}
    return {item["compile_id"]: read_recorded(folder, item["file"]) for item in items}


def made(found: Recorded, item: RecordedInput) -> torch.Tensor:
    """As ``docs/reference/dump.md`` says."""
    entry = found.entries[item.tensor]
    raw = torch.frombuffer(bytearray(entry.data) or bytearray(1), dtype=torch.uint8)[: entry.data.nbytes]
    return raw.view(getattr(torch, item.dtype[6:])).as_strided(item.shape, item.stride, item.offset)


def by_name(found: Recorded) -> dict[str, RecordedInput]:
    return {item.name: item for item in found.inputs}


def record(folder, call, limit=True):
    with depyf.prepare_debug(folder, record=limit):
        return call()


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(3, 3)
        self.second = torch.nn.Linear(3, 3)
        self.second.weight = self.first.weight
        self.register_buffer("scale", torch.arange(3))

    def forward(self, x, factor):
        x = torch.nn.functional.dropout(self.first(x)) * factor
        torch._dynamo.graph_break()
        return self.second(x) * self.scale


def test_inputs_parameters_buffers_and_numbers_of_every_graph(tmp_path):
    model, x = Model(), torch.randn(2, 3)
    compiled = torch.compile(model, backend="eager")
    record(tmp_path, lambda: [compiled(x, 2.5), compiled(torch.ones(4, 3), 3.5)])
    found = recorded(tmp_path)
    assert sorted(found) == ["0/0", "0/1", "1/0", "1/1"] and all(one.complete for one in found.values())
    first = by_name(found["0/0"])
    assert torch.equal(made(found["0/0"], first["L_x_"]), x)
    weight = first["L_self_modules_first_parameters_weight_"]
    assert (weight.role, weight.requires_grad, weight.leaf) == ("parameter", True, True)
    assert torch.equal(made(found["0/0"], weight), model.first.weight)
    second = by_name(found["1/0"])
    assert second["L_self_buffers_scale_"].role == "buffer"
    assert second["L_x_"].requires_grad and not second["L_x_"].leaf
    again = by_name(found["0/1"])
    assert 4 in [item.value for item in again.values()]
    assert made(found["0/1"], again["L_factor_"]).item() == 3.5


def test_the_generator_gives_the_numbers_of_the_first_call(tmp_path):
    compiled = torch.compile(lambda x: torch.rand_like(x) + x, backend="eager")
    result = record(tmp_path, lambda: compiled(torch.zeros(5)))
    found = recorded(tmp_path)["0/0"]
    torch.set_rng_state(torch.frombuffer(bytearray(found.entries[found.rng["cpu"]].data), dtype=torch.uint8))
    assert torch.equal(torch.rand(5), result)


def test_views_keep_strides_and_shared_memory(tmp_path):
    memory = torch.arange(40, dtype=torch.float32)
    views = [memory[2:14].view(3, 4).t(), memory[10:30:3], memory[7].expand(5), memory[30:].view(torch.int32)]

    def add(a, b, c, d):
        return a.sum() + b.sum() + c.sum() + d.sum()

    record(tmp_path, lambda: torch.compile(add, backend="eager")(*views))
    found = recorded(tmp_path)["0/0"]
    assert len({item.tensor for item in found.inputs}) == 1
    for item, view in zip(found.inputs, views):
        assert torch.equal(made(found, item), view) and item.stride == view.stride()
    (entry,) = [entry for name, entry in found.entries.items() if not name.startswith("rng")]
    assert entry.data.nbytes == 38 * 4  # from the third element on


def test_only_the_part_in_use_of_a_large_storage_is_kept(tmp_path):
    memory = torch.zeros(1 << 22)
    record(tmp_path, lambda: torch.compile(torch.sin, backend="eager")(memory[100:110]))
    assert next(tmp_path.glob("*.safetensors")).stat().st_size < 10_000


@pytest.mark.parametrize(
    "dtype",
    [torch.float16, torch.bfloat16, torch.bool, torch.uint8, torch.int16, torch.complex64, torch.complex128, torch.float8_e4m3fn],
)  # fmt: skip
def test_dtypes(tmp_path, dtype):
    x = torch.tensor([[1, 0, 1]]).to(dtype)
    record(tmp_path, lambda: torch.compile(lambda x: x.view(-1), backend="eager")(x))
    found = recorded(tmp_path)["0/0"]
    assert found.complete and (made(found, found.inputs[0]) == x).all()


def test_empty_and_scalar_tensors(tmp_path):
    record(
        tmp_path, lambda: torch.compile(lambda x, y: x.sum() + y, backend="eager")(torch.ones(0, 3), torch.tensor(2.0))
    )
    found = recorded(tmp_path)["0/0"]
    x, y = (made(found, item) for item in found.inputs)
    assert x.shape == (0, 3) and y.item() == 2


def test_constants_of_the_graph(tmp_path):
    table = torch.arange(1000.0)

    def look_up(x):
        return x + torch.tensor([1.0, 2.0])

    record(tmp_path, lambda: torch.compile(look_up, backend="eager")(table[:2]))
    found = recorded(tmp_path)["0/0"]
    for item in found.constants:
        assert torch.equal(made(found, item), torch.tensor([1.0, 2.0]))


def test_what_does_not_fit_is_left_out_the_largest_first(tmp_path):
    small, large = torch.ones(10), torch.ones(1000)
    record(tmp_path, lambda: torch.compile(lambda a, b: a.sum() + b.sum(), backend="eager")(large, small), limit=500)
    found = recorded(tmp_path)["0/0"]
    a, b = found.inputs
    assert a.left_out == "4000 B; the limit is 500 B" and a.shape == (1000,) and a.dtype == "torch.float32"
    assert torch.equal(made(found, b), small) and not found.complete


def test_the_limit_is_of_the_whole_dump(tmp_path):
    def call():
        for function in (torch.sin, torch.cos, torch.tan):
            torch.compile(function, backend="eager")(torch.ones(100))

    record(tmp_path, call, limit=900)
    assert [one.complete for one in recorded(tmp_path).values()] == [True, True, False]


class Tagged(torch.Tensor):
    pass


@pytest.mark.parametrize(
    "value, reason",
    [
        (torch.ones(2, 2).to_sparse(), "layout is torch.sparse_coo"),
        (torch.ones(2, dtype=torch.complex64).conj(), "conjugate"),
        (torch.ones(2, device="meta"), "no memory"),
        (torch.ones(2).as_subclass(Tagged), "Tagged"),
    ],
    ids=["sparse", "conjugate", "meta", "subclass"],
)
def test_what_cannot_be_kept_says_why(tmp_path, value, reason):
    try:
        record(tmp_path, lambda: torch.compile(lambda x: x * 2, backend="eager")(value))
    except Exception:
        pytest.skip("this torch does not compile it")
    found = recorded(tmp_path)
    for one in found.values():
        assert any(reason in item.left_out for item in one.inputs)


def test_without_the_keyword_there_is_none(tmp_path):
    with depyf.prepare_debug(tmp_path):
        torch.compile(torch.sin, backend="eager")(torch.ones(2))
    assert recorded(tmp_path) == {} and not list(tmp_path.glob("*.safetensors"))


@pytest.mark.parametrize("wrong", [-1, "yes", None, 1.5])
def test_a_wrong_limit_is_said_before_anything_runs(tmp_path, wrong):
    with pytest.raises(depyf.DepyfError, match="number of bytes"):
        depyf.prepare_debug(tmp_path, record=wrong)


def test_the_program_is_not_disturbed(tmp_path):
    """Same results, gradients and random numbers as without; no tensor of the program is kept alive or written to."""

    def run(how):
        torch._dynamo.reset()
        torch.manual_seed(0)
        model, x = Model(), torch.randn(2, 3, requires_grad=True)
        versions = [tensor._version for tensor in (*model.parameters(), x)]
        compiled = torch.compile(model, backend="eager")
        y = how(lambda: compiled(x, 2.0))
        y.sum().backward()
        assert versions == [tensor._version for tensor in (*model.parameters(), x)]
        return [y, x.grad, torch.rand(3)], weakref.ref(x)

    plain, _ = run(lambda call: call())
    shown, alive = run(lambda call: record(tmp_path, call))
    assert all(map(torch.equal, plain, shown))
    torch._dynamo.reset()
    del shown
    assert alive() is None


def test_a_mode_of_the_program_sees_nothing(tmp_path):
    from torch.utils._python_dispatch import TorchDispatchMode

    class Counting(TorchDispatchMode):
        seen = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            Counting.seen += 1
            return function(*args, **(kwargs or {}))

    def seen(how):
        torch._dynamo.reset()
        Counting.seen = 0
        with Counting():
            how(lambda: torch.compile(torch.sin, backend="eager")(torch.ones(3)))
        return Counting.seen

    assert seen(lambda call: call()) == seen(lambda call: record(tmp_path, call))


def test_graphs_that_torch_began_again_leave_nothing(tmp_path):
    """Dynamo analyses again after a break inside a nested call: files of dropped attempts go."""

    def inner(x):
        torch._dynamo.graph_break()
        return x + 1

    def outer(x):
        x = x.sin()
        for _ in range(2):
            x = inner(x)
        return x

    record(tmp_path, lambda: torch.compile(outer, backend="eager")(torch.ones(3)))
    graphs = {path.name.removesuffix(".py") for path in tmp_path.glob("*.Captured_Graph.0.py")}
    assert {path.name.removesuffix(".safetensors") for path in tmp_path.glob("*.safetensors")} == graphs


def test_the_next_dump_removes_them(tmp_path):
    record(tmp_path, lambda: torch.compile(torch.sin, backend="eager")(torch.ones(2)))
    program = "import depyf, sys\nwith depyf.prepare_debug(sys.argv[1]): pass"
    with_torch.run([sys.executable, "-c", program, tmp_path], check=True)
    assert not list(tmp_path.glob("*.safetensors"))


def test_the_same_run_twice_gives_the_same_bytes(tmp_path):
    program = "import torch, depyf, sys\ntorch.manual_seed(1)\nwith depyf.prepare_debug(sys.argv[1], record=True): torch.compile(torch.nn.Linear(3, 4), backend='eager')(torch.randn(2, 3))\n"
    for name in ("a", "b"):
        subprocess.run([sys.executable, "-c", program, str(tmp_path / name)], check=True)
    (first,), (second,) = ([*(tmp_path / name).glob("*.safetensors")] for name in ("a", "b"))
    assert first.read_bytes() == second.read_bytes()


def test_the_command(tmp_path):
    (tmp_path / "p.py").write_text("import torch\ntorch.compile(torch.sin, backend='eager')(torch.ones(100))\n")
    for name, options in (("plain", []), ("all", ["--record"]), ("few", ["--record-bytes", "100"])):
        command = [sys.executable, "-m", "depyf", "run", "--out", tmp_path / name, *options, tmp_path / "p.py"]
        with_torch.run(command, check=True)
    assert recorded(tmp_path / "plain") == {}
    assert recorded(tmp_path / "all")["0/0"].complete and not recorded(tmp_path / "few")["0/0"].complete


def test_the_safetensors_library_reads_it(tmp_path):
    load = pytest.importorskip("safetensors.torch").load_file
    x = torch.randn(2, 3)
    record(tmp_path, lambda: torch.compile(torch.sin, backend="eager")(x))
    found = load(next(tmp_path.glob("*.safetensors")))
    (name,) = [name for name in found if not name.startswith("rng")]
    assert torch.equal(found[name], x)


def test_other_readers_of_the_dump_are_as_before(tmp_path):
    record(tmp_path, lambda: torch.compile(Model(), backend="aot_eager")(torch.randn(2, 3), 2.0))
    depyf.report(tmp_path).save(tmp_path / "r.html")
    assert "not text in UTF-8" not in (tmp_path / "r.html").read_text()


def test_the_first_call_that_fails_keeps_its_inputs_and_its_error(tmp_path):
    compiled = torch.compile(lambda x, i: (x[i] * 2).sum(), backend="eager")
    before = dict(globals())
    with depyf.prepare_debug(tmp_path, record=True):
        compiled(torch.ones(5), torch.tensor([1, 2]))
        for wrong in (9, 10):
            with pytest.raises(IndexError, match=str(wrong)):
                compiled(torch.ones(5), torch.tensor([1, wrong]))
    (path,) = tmp_path.glob("*.failed.safetensors")
    found = read_recorded(tmp_path, path.name)
    assert made(found, by_name(found)["L_i_"]).tolist() == [1, 9]
    assert found.error.startswith("IndexError: index 9 is out of bounds")
    names = [name for name in globals() if name.startswith("__compiled_fn_") and name not in before]
    assert names and not any("failed_calls" in str(inside) for name in names for inside in closure(globals()[name]))


def closure(function):
    return [getattr(cell.cell_contents, "__module__", "") for cell in function.__closure__ or ()]


def test_how_it_was_compiled(tmp_path):
    with torch._inductor.config.patch(max_fusion_size=7):
        compiled = torch.compile(lambda x: x.sin(), backend="inductor", options={"epilogue_fusion": True})
        record(tmp_path, lambda: compiled(torch.ones(3)))
    how = recorded(tmp_path)["0/0"].compiled_with
    assert (how.backend, how.options) == ("inductor", {"epilogue_fusion": True})
    assert how.settings == {"torch._inductor.config.max_fusion_size": 7}


def own_backend(graph, inputs):
    raise ValueError("not today")


def test_a_compilation_that_failed(tmp_path):
    with pytest.raises(Exception, match="not today"):
        record(tmp_path, lambda: torch.compile(lambda x: x + 1, backend=own_backend)(torch.ones(3)))
    found = recorded(tmp_path)["0/0"]
    assert found.complete and found.compiled_with.backend == f"{__name__}.own_backend"
