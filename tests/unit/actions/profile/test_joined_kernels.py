"""``depyf join``: each kernel of a trace with its graph and its line, told apart by the region that started it."""

from __future__ import annotations

import gzip
import json

import pytest

from depyf.actions.profile.chrome_trace import TraceError, kernel_runs, read_trace
from depyf.actions.profile.joined_kernels import joined, table_of
from depyf.cli import main
from made_dumps import made_dump

GRAPH = """\
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[4][1]cpu"):
        # File: /m/net.py:{line} in forward, code: return {code}
        add: "f32[4][1]cpu" = torch.ops.aten.add.Tensor(arg0_1, 1);  arg0_1 = None
        return (add,)
"""
WRAPPER = """\
cpp_fused_add_0 = async_compile.cpp_pybinding(['const float*', 'float*'], '''
extern "C"  void kernel(const float* in_ptr0, float* out_ptr0) {}
''')

def call(args):
    arg0_1, = args
    args.clear()
    buf0 = empty_strided_cpu((4, ), (1, ), torch.float32)
    cpp_fused_add_0(arg0_1, buf0)
    del arg0_1
    return (buf0, )
"""


KERNEL = """\
extern "C"  void kernel(const float* in_ptr0,
                       float* out_ptr0)
{
    {
        auto tmp2 = tmp0 + tmp1;
        tmp2.store(out_ptr0 + static_cast<int64_t>(0));
    }
}
"""


def dump_of(folder):
    """Two graphs, each with a kernel of the same name."""
    files, texts = [], {}
    for graph in (0, 1):
        start, key = f"__compiled_fn_{graph}_0", {"compile_id": f"{graph}/0", "generation": 0}
        names = [f"{start}.Captured_Graph.0.py", f"{start}.AFTER_POST_GRAD.0.py", f"{start}.kernel_0.py"]
        kernel = f"{start}.kernel_0.cpp_fused_add_0.cpp"
        stages = ("Captured_Graph", "AFTER_POST_GRAD", "kernel")
        for before, name, stage in zip(["", *names], names, stages):
            kind = "wrapper" if stage == "kernel" else "graph"
            files.append(
                {"file": name, "kind": kind, "stage": stage, "index": 0, "from": [before] if before else [], **key}
            )
            text = WRAPPER if kind == "wrapper" else GRAPH.format(line=graph + 7, code=f"x + {graph}")
            texts[name] = text
        files.append({"file": kernel, "kind": "kernel_source", "kernel": "cpp_fused_add_0", "called_at": 9,
                      "from": names[-1:], **key})  # fmt: skip
        texts[kernel] = KERNEL
        nodes = {
            "frames": [],
            "stacks": [],
            "graphs": {names[-1]: {"kernels": [{"buffers": ["buf0"], "nodes": ["add"]}]}},
        }
        files.append({"file": f"{start}.nodes.json", "kind": "node_origins", "from": names[-1:], **key})
        texts[f"{start}.nodes.json"] = json.dumps(nodes)
    made_dump(folder, {"files": files})
    for name, text in texts.items():
        (folder / name).write_text(text)
    return folder


def span(name, ts, dur, tid=1, cat="cpu_op", **args):
    return {"ph": "X", "name": name, "ts": ts, "dur": dur, "pid": 1, "tid": tid, "cat": cat, "args": args}


ON_CPU = [
    span("Torch-Compiled Region: 0/0", 0, 100),
    span("graph_0_cpp_fused_add_0", 10, 20),
    span("aten::mm", 40, 5),
    span("Torch-Compiled Region: 1/0", 200, 100),
    span("graph_1_cpp_fused_add_0", 210, 60),
    {"ph": "i", "name": "no span", "ts": 5},
    "no event",
]
ON_GPU = [
    span("Torch-Compiled Region: 1/0", 0, 100),
    span("cuLaunchKernel", 10, 2, cat="cuda_driver", correlation=7),
    span("cpp_fused_add_0", 500, 30, tid=77, cat="kernel", correlation=7),
    span("ampere_sgemm_128x64", 540, 90, tid=77, cat="kernel", correlation=8),
]


def written(folder, events, name="trace.json"):
    path = folder / name
    text = json.dumps({"schemaVersion": 1, "traceEvents": events})
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def test_a_kernel_is_of_the_region_that_ran_it(tmp_path):
    kernels, runs = joined(kernel_runs(read_trace(written(tmp_path, ON_CPU))), dump_of(tmp_path / "dump"))
    assert [(k.name, k.compile_id, k.calls, k.microseconds, k.lines[0].line) for k in kernels] == [
        ("cpp_fused_add_0", "1/0", 1, 60.0, 8),
        ("cpp_fused_add_0", "0/0", 1, 20.0, 7),
    ]
    assert len(runs) == 2 and all(kernel.others == 0 for kernel in kernels)
    assert kernels[0].lines[0].filename == "/m/net.py"


def test_a_kernel_of_a_gpu_is_of_the_region_that_launched_it(tmp_path):
    kernels, _ = joined(kernel_runs(read_trace(written(tmp_path, ON_GPU))), dump_of(tmp_path / "dump"))
    assert [(k.name, k.compile_id, bool(k.file)) for k in kernels] == [
        ("ampere_sgemm_128x64", "", False), ("cpp_fused_add_0", "1/0", True),
    ]  # fmt: skip
    lines = table_of(kernels)
    assert "25.0 %" in lines[2] and "net.py:8 `" in lines[2]
    assert lines[-1].startswith("1 kernel, 90.0 us in all, not in the dump")


def test_without_a_region_it_may_be_of_several(tmp_path):
    (kernel,), _ = joined(kernel_runs(read_trace(written(tmp_path, ON_CPU[1:2]))), dump_of(tmp_path / "dump"))
    assert kernel.others == 1 and "(or of 1 more)" in table_of([kernel])[1]


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_the_command_writes_the_trace_with_lines(name, tmp_path, capfd):
    trace = written(tmp_path, ON_CPU, name)
    assert main(["join", str(trace), str(dump_of(tmp_path / "dump"))]) == 0
    page = json.loads((tmp_path / "trace.joined.json").read_text())
    told = [
        event["args"]
        for event in page["traceEvents"]
        if isinstance(event, dict) and "depyf lines" in event.get("args", {})
    ]
    assert [args["depyf lines"][0].partition(": ")[0] for args in told] == ["/m/net.py:7", "/m/net.py:8"]
    assert page["schemaVersion"] == 1 and len(page["traceEvents"]) == len(ON_CPU)
    assert json.loads(gzip.decompress(trace.read_bytes()) if name.endswith(".gz") else trace.read_text()) != page
    assert "trace.joined.json" in capfd.readouterr().out


def test_what_is_no_trace_is_refused(tmp_path, capfd):
    dump = dump_of(tmp_path / "dump")
    for text in ("", "[]", "{}", '{"traceEvents": 3}', '{"traceEvents": [3]}', "[" * 100_000, "\x1f\x8b"):
        (tmp_path / "bad.json").write_bytes(text.encode("latin-1"))
        with pytest.raises(TraceError):
            read_trace(tmp_path / "bad.json")
    assert main(["join", str(tmp_path / "bad.json"), str(dump)]) == 4
    assert main(["join", str(tmp_path / "gone.json"), str(dump)]) == 4
    assert main(["join", str(written(tmp_path, ON_CPU)), str(tmp_path)]) == 4
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 3 and all(line.startswith("depyf: ") for line in lines)


def test_a_trace_without_kernels_says_what_to_set(tmp_path, capfd):
    trace = written(tmp_path, ON_CPU[2:3])
    assert main(["join", str(trace), str(dump_of(tmp_path / "dump"))]) == 1
    assert "enable_kernel_profile" in capfd.readouterr().err and not (tmp_path / "trace.joined.json").exists()


def test_events_of_any_form_are_left_alone(tmp_path):
    odd = [
        *ON_CPU, {"ph": "X"}, {"ph": "X", "name": 3, "ts": 1, "dur": 1}, {"ph": "X", "name": "k", "ts": "1", "dur": 1},
        {"ph": "X", "name": "k", "ts": 1, "dur": 1, "cat": "kernel", "args": [1]}, span("k", 1, 1, cat="kernel", correlation=[2]),
    ]  # fmt: skip
    assert [run.name for run in kernel_runs(read_trace(written(tmp_path, odd)))] == ["cpp_fused_add_0"] * 2 + ["k"] * 2
