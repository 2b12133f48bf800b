"""Whether a generated wrapper can be called in the place of its captured graph."""

from __future__ import annotations

from depyf.actions.export.texts.kernel_files import why_not
from depyf.run.graphs.graph_facts import AotFacts, GraphFacts, InputFacts

AOT = AotFacts(2, outputs=("non_alias",))
THREE = tuple(InputFacts(name, "tensor") for name in "abc")


def test_a_graph_from_the_compile_cache_has_a_count_of_inputs_only() -> None:
    assert why_not(GraphFacts(aot=AOT), 2, trained=False) == ""
    assert why_not(GraphFacts(aot=AOT), 3, trained=False) == "it takes other inputs than the captured graph"


def test_what_a_graph_is_reported_to_take_goes_first() -> None:
    assert why_not(GraphFacts(THREE, aot=AOT), 3, trained=False) == ""
    assert why_not(GraphFacts(THREE, aot=AOT), 2, trained=False) == "it takes other inputs than the captured graph"
