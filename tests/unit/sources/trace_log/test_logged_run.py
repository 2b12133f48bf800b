"""The run that a log tells."""

from __future__ import annotations

import os
from pathlib import Path

from depyf.run.causes.collect import causes_of
from depyf.run.observations.all_observations import nothing_to_fix
from depyf.run.records import EntryState
from depyf.run.run import Run
from depyf.sources.trace_log.log_files import find_logs
from depyf.sources.trace_log.log_runs import LogContents, read_log
from trace_logs import GRAPH, TraceLog, small_log

PROGRAM = "def f(x, n):\n    y = x * n\n    if y.sum() > 0:\n        return y\n    return -y\n"


def program(folder: Path) -> Path:
    path = folder / "train.py"
    path.write_text(PROGRAM)
    os.utime(path, (1, 1))
    return path


def contents(log: TraceLog, folder: Path) -> LogContents:
    (found,) = find_logs(log.write(folder / "logs" / "a.log")).logs.values()
    return read_log(found)


def run_of(log: TraceLog, folder: Path) -> Run:
    return contents(log, folder).run


def test_counts_causes_and_source(tmp_path: Path) -> None:
    path = program(tmp_path)
    found = contents(small_log(str(path)), tmp_path)
    run = found.run
    assert (run.compilations, run.recompilations, len(run.breaks), run.unfinished) == (2, 1, 1, 0)
    assert (run.torch_version, run.python_version, run.of_log, run.seconds) == ("2.13.0", "3.11.7", True, 1.0)
    (function,) = run.functions
    assert (function.code.source, function.code.parameters) == (PROGRAM.strip(), "x, n")
    guard = function.entries[0].guards[0]
    assert (guard.expression, guard.place and guard.place.filename) == ("same_value(L['n'], 2)", str(path))
    assert found.sources == {"__source_of_train_0.py": PROGRAM}
    assert {cause.place.line for cause in causes_of(run) if cause.place} == {2, 3}
    assert run.notes == ()


def test_what_the_call_had_is_told_by_the_new_entry(tmp_path: Path) -> None:
    run = run_of(small_log(str(program(tmp_path))), tmp_path)
    (recompile,) = run.entries[1][1].recompiles
    assert (recompile.guard, recompile.expected, recompile.actual) == ("n == 2", "2", "3")
    (refusal,) = run.entries[1][1].refusals
    assert [one.guard for one in refusal.failed] == ["same_value(L['n'], 2)"]


def test_inputs_of_a_captured_graph(tmp_path: Path) -> None:
    log = small_log(str(program(tmp_path)))
    log.add({"describe_tensor": {"id": 0, "describer_id": 9, "is_leaf": True, "requires_grad": True}}, None, "0/1")
    log.add({"describe_source": {"id": 0, "describer_id": 9, "source": "L['x']"}}, None, "0/1")
    first, second = run_of(log, tmp_path).graphs
    assert first.facts is not None and second.facts is not None
    assert [one.source for one in (*first.facts.inputs, *second.facts.inputs)] == ["", "L['x']"]
    tensor = second.facts.inputs[0].tensor
    assert tensor is not None
    assert (tensor.dtype, tensor.shape, tensor.strides, tensor.requires_grad) == ("torch.float32", (4,), (1,), True)


def test_a_file_that_has_changed_shows_no_lines(tmp_path: Path) -> None:
    path = program(tmp_path)
    log = small_log(str(path))
    os.utime(path, (2**33, 2**33))
    run = run_of(log, tmp_path)
    assert run.functions[0].code.source == ""
    assert run.sources == ()
    assert any("changed after the log was written" in note for note in run.notes)


def test_a_killed_process_was_compiling(tmp_path: Path) -> None:
    log = small_log("/gone/train.py")
    log.add({"dynamo_start": {"stack": [{"line": 9, "name": "g", "filename": 0}]}}, None, "1/0")
    run = run_of(log, tmp_path)
    assert [function.code.name for function, _ in run.of_state(EntryState.UNFINISHED)] == ["g"]
    assert run.compilations == 2


def test_what_was_given_up(tmp_path: Path) -> None:
    log = TraceLog()
    log.compiled("0/0", "/p/a.py", fail_type="Unsupported", fail_reason="Unsupported builtin")
    log.compiled("1/0", "/p/b.py", broken="Graph Break Reason: x", fail_type="Unsupported", fail_reason="no")
    log.compiled("2/0", "/p/c.py", fail_type="BackendCompilerFailed", fail_reason="backend='b' raised:\nValueError: no")
    states = [entry.state for _, entry in run_of(log, tmp_path).entries]
    assert states == [EntryState.FAILED, EntryState.PYTHON, EntryState.FAILED]


def test_nothing_to_compile_is_no_compilation(tmp_path: Path) -> None:
    log = TraceLog()
    frame = {"line": 1, "name": "f", "filename": "/p/a.py"}
    log.add({"dynamo_start": {"stack": [frame]}}, None, "0/0")
    log.add({"compilation_metrics": {"co_name": "f", "has_guarded_code": True}}, None, "0/0")
    run = run_of(log, tmp_path)
    assert (run.compilations, run.entries[0][1].state) == (0, EntryState.NOTHING)


def test_counters_that_begin_again(tmp_path: Path) -> None:
    log = small_log("/p/a.py")
    log.compiled("0/0", "/p/a.py")
    assert [entry.key.label for _, entry in run_of(log, tmp_path).entries] == ["0/0", "0/1", "0/0 (after reset 1)"]


def test_disassembly_of_a_rest(tmp_path: Path) -> None:
    log = small_log("/p/a.py")
    frame = {"line": 3, "name": "torch_dynamo_resume_in_f_at_3", "filename": 0}
    log.add({"dynamo_start": {"stack": [frame]}}, None, "1/0")
    code = "  3           0 LOAD_GLOBAL  3 (NULL + __compiled_fn_7_0a1b2c3d_0a1b_0a1b_0a1b_0a1b2c3d4e5f)\n"
    code += "              8 LOAD_GLOBAL  1 (__resume_at_30_2)\n"
    log.artifact("torch_dynamo_resume_in_f_at_3_MODIFIED_BYTECODE", code, "1/0")
    log.add({"dynamo_cpp_guards_str": {}}, "TREE_GUARD_MANAGER:\n+- RootGuardManager\n", "1/0")
    found = contents(log, tmp_path)
    rest = found.run.functions[1]
    assert (rest.resume_of, rest.code.qualname) == ((0, "0"), "torch_dynamo_resume_in_f_at_3")
    made = rest.entries[0].transformed
    assert made is not None
    assert (made.source, made.graphs, made.resumes) == ("", ("__compiled_fn_1_0",), ("__resume_at_30_2",))
    assert "LOAD_GLOBAL" in found.transformed[rest.entries[0].key]


def test_who_called_a_function_whose_rest_is_compiled(tmp_path: Path) -> None:
    """torch leaves out the last two frames above: here its wrapper of a compiled call, and ``f``.  Where the wrapper is
    told, another frame is left out, and who called ``f`` is not known."""
    for wrapper, told in ((), ["main", "f"]), ((("compile_wrapper", "/v/torch/_dynamo/eval_frame.py"),), ["f"]):
        log = small_log("/p/a.py")
        frames = [("main", "/p/a.py"), *wrapper, ("torch_dynamo_resume_in_f_at_3", "/p/a.py")]
        stack = [{"line": 9, "name": name, "filename": log.named(file), "loc": "f(x, 2)"} for name, file in frames]
        stack[-1] = {**stack[-1], "line": 3}
        log.add({"dynamo_start": {"stack": stack}}, None, "1/0")
        log.add({"dynamo_cpp_guards_str": {}}, "TREE_GUARD_MANAGER:\n+- RootGuardManager\n", "1/0")
        folder = tmp_path / str(len(wrapper))
        folder.mkdir()
        (entry,) = run_of(log, folder).functions[1].entries
        assert [one.place.function for one in entry.callers] == told
        assert entry.callers[-1].function == (0, "0")


def test_what_a_whole_function_calls_is_its_graph(tmp_path: Path) -> None:
    made = run_of(small_log("/p/a.py"), tmp_path).entries[1][1].transformed
    assert made is not None and (made.source, made.graphs, made.resumes) == ("", ("__compiled_fn_0_1",), ())


def test_a_compilation_of_which_the_begin_is_lost(tmp_path: Path) -> None:
    log = small_log("/p/a.py")
    log.artifact("recompile_reasons", '["0/0: n == 2"]', "7/1", "json")
    log.add({"dynamo_cpp_guards_str": {}}, "TREE_GUARD_MANAGER:\n+- RootGuardManager\n", "8/0")
    run = run_of(log, tmp_path)
    assert [entry.key.text for _, entry in run.entries] == ["0/0", "0/1"]


def test_records_of_another_form_are_left_out(tmp_path: Path) -> None:
    log = TraceLog()
    log.add({"dynamo_start": {"stack": 7}}, None, "0/0")
    log.add({"create_symbol": {"symbol": None, "user_stack": [3, {"line": "x"}]}}, None, "0/0")
    log.add({"compilation_metrics": {"restart_reasons": 3, "graph_op_count": [], "dynamo_config": "{"}}, None, "0/0")
    log.artifact("torch_version", "[]", "0/0")
    log.artifact("recompile_reasons", '{"a": 1}', "0/0")
    log.add({"chromium_event": {}}, '{"ts": "x", "ph": 1, "name": 7}', "0/0")
    log.add({"a_record_of_torch_3": {}, "frame_id": [1], "attempt": "x"})
    log.compiled("1/0", "/p/a.py")
    run = run_of(log, tmp_path)
    assert run.compilations == 1
    assert any("torch_version" in note or "left out" in note for note in run.notes)


def test_a_log_of_an_export_says_what_it_has(tmp_path: Path) -> None:
    log = TraceLog()
    log.artifact("exported_program", "ExportedProgram: ...", "")
    log.add({"guard_added": {"expr": "Eq(s0, 2)"}})
    log.add({"frame_id": 0, "chromium_event": {}}, "{}")
    (found,) = find_logs(log.write(tmp_path / "a.log")).logs.values()
    run = read_log(found).run
    assert run.notes == ("a.log: nothing of torch.compile; its records are exported_program (1), guard_added (1), ...",)


def test_graphs_of_no_call(tmp_path: Path) -> None:
    log = TraceLog()
    log.add({"aot_forward_graph": {}}, GRAPH.format(n=2))
    (found,) = find_logs(log.write(tmp_path / "a.log")).logs.values()
    run = read_log(found).run
    assert nothing_to_fix([run]).startswith(
        "torch.compile compiled nothing. There is 1 graph that was made ahead of time"
    )
