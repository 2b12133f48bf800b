"""torch's reason for making no CUDA graph becomes an observation at the line that it names."""

from __future__ import annotations

from depyf.run.observations.observation import ObservationKind
from depyf.run.observations.skipped_cuda_graphs import skipped_cuda_graphs
from depyf.run.run import Run
from depyf.run.trace_events import TraceEvent
from depyf.sources.reports.guards.guard_text import GuardReader
from depyf.sources.reports.heard import Heard
from made_dumps import compilation, function

REASON = """skipping cudagraphs due to cpu device (primals_2). Found from : 
   File "/home/me/train.py", line 12, in step
    return model(x) + bias
  File "/x/site-packages/torch/nn/modules/module.py", line 1786, in _call_impl
    return forward_call(*args)
"""  # noqa: W291


def run_of(*compilations):
    return Run("2.13.0", "3.11", (function("0", "f", 1, *compilations),), finished=True)


def test_the_line_and_the_reason_are_told():
    run = run_of(compilation("0/0", cuda_graphs_skipped=REASON), compilation("0/1", cuda_graphs_skipped=REASON))
    (found,) = skipped_cuda_graphs(run)
    assert found.kind is ObservationKind.CUDA_GRAPHS and len(found.entries) == 2
    assert (found.place.filename, found.place.line, found.place.text) == (
        "/home/me/train.py",
        12,
        "return model(x) + bias",
    )
    assert found.text.endswith("asks for them: cpu device (primals_2)")


def test_a_reason_without_a_stack_has_no_line():
    (found,) = skipped_cuda_graphs(
        run_of(compilation("0/0", cuda_graphs_skipped="skipping cudagraphs due to mutated inputs (1 instances)"))
    )
    assert found.place is None and found.text.endswith(": mutated inputs (1 instances)")


def test_it_is_heard_from_the_metrics_of_forward_and_backward():
    for name in ("compilation_metrics", "bwd_compilation_metrics"):
        heard = Heard(GuardReader(), 0.0)
        heard.handle(TraceEvent(name, "0/0", 0, {"cudagraph_skip_reason": REASON, "guard_latency_us": 12}, ""))
        entry = heard.entry(heard.key("0/0"))
        assert entry.cuda_graphs_skipped == REASON
        assert heard.timings[entry.key]["guards_of_one_call"] == 12e-6
