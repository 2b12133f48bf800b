"""What a guard asks, taken from its expression as Python."""

from __future__ import annotations

from depyf.run.guards.difference import beside, values_beside
from depyf.run.guards.guard_kind import check_in, keywords, operands_of
from depyf.run.guards.guarded_path import variable_of
from depyf.run.guards.kinds.mark_guard import on_marks
from depyf.run.guards.kinds.object_guard import object_wanted
from depyf.run.guards.kinds.type_guard import class_wanted


def test_operands_are_those_of_the_check_alone() -> None:
    assert [type(one).__name__ for one in operands_of("type_is(L['x'], 'int')", ("type_is",))] == [
        "Subscript",
        "Constant",
    ]
    assert operands_of("not type_is(L['x'], 'int')", ("type_is",)) == []
    assert operands_of("type_is(L['x'], 'int') or L['y']", ("type_is",)) == []
    check = check_in("check_global_state(grad_mode=True)", ("check_global_state",))
    assert check is not None and list(keywords(check)) == ["grad_mode"]


def test_classes_and_objects() -> None:
    assert class_wanted("type_is(L['self'], 'm.Net')") == ("L['self']", "m.Net")
    assert class_wanted("same_object(L['f'], 'module')") is None
    assert object_wanted("same_object(G['Config'], 'm.Config')") == ("G['Config']", "m.Config")
    assert object_wanted("G['Config'] is None") is None


def test_variables_are_whole_sources() -> None:
    assert variable_of("L['self']") == "self" and variable_of("G['np']", "G") == "np"
    for other in ("G['self']", "L['self'].k", "L['a']['b']", "L[0]", "1 +", "L"):
        assert variable_of(other) == ""


def test_marks_in_our_words_and_in_those_of_torch() -> None:
    assert on_marks("no_dynamic_marks(L['x'])") and on_marks("hasattr(L['x'], '_dynamo_dynamic_indices') == False")
    assert not on_marks("type_is(L['no_dynamic_marks'], 'int')")


def test_values_are_left_out_that_torch_says_itself() -> None:
    told = "tensor 'x' size mismatch at index 0. expected 3, actual 4"
    assert beside(told, "3", "4") == ("", "") and values_beside(told, "3", "4") == ""
    assert beside("tensor 'x' dtype mismatch. expected 3", "3", "4") == ("", "4")
    assert values_beside("x == 3", "3", "4") == "; expected 3, got 4" and values_beside("x == 3", "", "4") == ", got 4"
