"""Whether a generated wrapper can be called in the place of its captured graph."""

from __future__ import annotations

from depyf.actions.export.texts.kernel_files import why_not

AOT = {"inputs": 2, "mutated": [], "outputs": ["non_alias"], "bases": 0, "tokens": 0, "subclasses": False}


def test_a_graph_from_the_compile_cache_has_a_count_of_inputs_only() -> None:
    assert why_not({"aot": AOT, "inputs": []}, 2, trained=False) == ""
    assert why_not({"aot": AOT, "inputs": []}, 3, trained=False) == "it takes other inputs than the captured graph"


def test_what_a_graph_is_reported_to_take_goes_first() -> None:
    assert why_not({"aot": AOT, "inputs": [{}, {}, {}]}, 3, trained=False) == ""
    assert (
        why_not({"aot": AOT, "inputs": [{}, {}, {}]}, 2, trained=False)
        == "it takes other inputs than the captured graph"
    )
