"""Renaming the globals that Dynamo invents."""

import re

from hypothesis import given
from hypothesis import strategies as st

from depyf.run.global_names import rename, resumed

NAME = "__compiled_fn_1_0a"


@given(st.lists(st.sampled_from([NAME, "_", "a", "0", " ", "(", ".", "é", "\n", "__compiled_fn_1_0", ""])).map("".join))
def test_one_name_is_replaced_where_a_word_is(text):
    assert rename(text, {NAME: "graph"}) == re.sub(rf"\b{NAME}\b", "graph", text)


def test_a_name_that_is_no_identifier():
    assert rename("f(a b) + a bc", {"a b": "x"}) == "f(x) + a bc"


def test_the_code_after_a_graph_break():
    assert resumed("Net.torch_dynamo_resume_in_forward_at_9") == ("Net.forward", 9)
    assert resumed("Net.forward") is None and resumed("resume_in_f_at_9") is None
