"""What kinds of guards say, without torch: from torch's words or an expression to data, and from data to words and advice."""

from __future__ import annotations

import json

import pytest

from depyf.run.guards.difference import Difference, GuardSide
from depyf.run.guards.known_kinds import (
    KINDS,
    NO_CALL,
    advice,
    guard_text,
    kinds_of,
    recompile_record,
    reported_differences,
    sentence,
    stated,
)
from depyf.run.places.place import Place
from depyf.run.records import RecompileRecord
from depyf.run.store.codec import made, plain


@pytest.mark.parametrize(
    ("expression", "kind"),
    (
        ("check_tensor(L['x'], 'Tensor', torch.float32, size=[3], stride=[1], requires_grad=False)", "tensor"),
        ("type_is(L['n'], 'int')", "type"),
        ("same_object(L['f'].__code__, 'code')", "object"),
        ("L['x'] is L['y']", "alias"),
        ("L['x'] is None", "value"),
        ("same_value(L['n'], 3)", "value"),
        ("n == 3", "value"),
        ("len(L['items']) == 3", "length"),
        ("not L['items']", "length"),
        ("'k' not in L['d']", "keys"),
        ("not hasattr(L['x'], 'k')", "keys"),
        ("same_value(list(dict.keys(L['d']))[0], 'k')", "keys"),
        ("2 <= L['x'].size()[0]", "relation"),
        ("L['a'].size()[0] <= L['b'].size()[1]", "relation"),
        ("step % 5 != 0", "relation"),
        ("no_dynamic_marks(L['x'])", "marks"),
        ("check_global_state(grad_mode=True)", "global state"),
        ("check_torch_function_mode_stack()", "modes"),
        ("torch.autograd.forward_ad._current_level == -1", "modes"),
        ("saved_tensors_hooks_are(None)", "hooks"),
        ("not L['self']._modules['fc']._forward_hooks", "hooks"),
        ("L['G']._base.size()[0] == 9 * L['G']._base.size()[1]", "view"),
        ("torch_checks('something new')", "unknown"),
        ("something(L['x']) > new", "relation"),
    ),
)
def test_kinds_of_expressions(expression: str, kind: str) -> None:
    assert kinds_of(expression)[0].name == kind


def test_names_are_unique_and_the_last_kind_fits_all() -> None:
    assert len({kind.name for kind in KINDS}) == len(KINDS) > 10
    assert KINDS[-1].name == "unknown"


@pytest.mark.parametrize(
    ("wanted", "found", "advised"),
    [("Tensor", "NoneType", "with-and-without"), ("Tensor", "int", "one-kind-of-tensor")],
)
def test_a_tensor_that_is_none_in_some_calls(wanted: str, found: str, advised: str) -> None:
    """All guards that fail say it of a tensor, too, not only the one on its type."""
    difference = Difference("tensor", "L['targets']", "type", wanted=GuardSide(wanted), found=GuardSide(found))
    assert [use.id for use in advice((difference,), None)] == [advised]


def told(text: str) -> tuple[str, str, str, str]:
    record = recompile_record("0/0", text, None, reported_differences(text, NO_CALL))
    return record.guard, record.expected, record.actual, "; ".join(use.id for use in record.advice)


@pytest.mark.parametrize(
    ("text", "guard", "expected", "actual", "advised"),
    (
        ("tensor 'x' size mismatch at index 0. expected 3, actual 4", "", "3", "4", "mark-dynamic; compile-dynamic"),
        ("tensor 'x' size mismatch at index 0. expected 3, actual 1", "", "3", "1", "pad-size; mark-unbacked"),
        (
            "tensor 'w' size mismatch at index 0. expected 3, actual 4. Guard failed on a parameter, consider using ...",
            "", "3", "4", "dynamic-parameters",
        ),
        ("tensor 'x' requires_grad mismatch. expected requires_grad=0", "", "False", "True", "one-requires-grad"),
        ("GLOBAL_STATE changed: grad_mode ", "torch's global state: grad mode", "", "", "with-and-without-gradients"),
        (
            "GLOBAL_STATE changed: grad_mode autocast(cpu)_enabled",
            "torch's global state: grad mode, autocast", "", "", "one-global-state",
        ),
        ("KeyError on L['d']['k']", "d['k'] is there", "", "", "always-there"),
        (
            "expected type of 'm' to be a tensor type, ' but found <class 'NoneType'>",
            "m is a tensor", "", "NoneType", "with-and-without",
        ),
        ("expected type of 'm' to be a tensor type, ' but found <class 'int'>", "m is a tensor", "", "int", "one-class"),
        (
            "expected type of 'm' to be a tensor type, ' but found <class 'torch.nn.parameter.Parameter'>",
            "the class of the tensor m", "", "torch.nn.parameter.Parameter", "parameter-or-tensor",
        ),
        ("Duplicate tensor found where not expected! Source: x", "no two arguments are one tensor", "", "", "distinct-tensors"),
        (
            "Cache line invalidated because L['f'] got deallocated",
            "f is the object of when it was compiled", "", "the object is gone", "keep-the-object",
        ),
        ("mode_stack == 'a'", "", "'a'", "", "one-value"),
        ("obj_id == 3", "", "3", "", "compile-dynamic; number-as-tensor"),
        ("4 <= type_id", "", ">= 4", "", "condition"),
        ("2 <= x.size()[0]", "", ">= 2", "", "pad-size; mark-unbacked"),
        ("a.size()[0] <= b.size()[1]", "", "", "", "condition"),
        (
            "'NoneType' object has no attribute 'size'",
            "a guard looks at what is not there", "a value that has size", "a value is None", "",
        ),
        ("Brand new reason of torch", "torch's words: Brand new reason of torch", "", "", ""),
    ),
)  # fmt: skip
def test_reasons_of_torch(text: str, guard: str, expected: str, actual: str, advised: str) -> None:
    assert told(text) == (guard or text, expected, actual, advised)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ("NoneType", "m is a tensor in some calls, and None in others"),
        ("int", "m is a tensor in some calls, and an int in others"),
        ("torch.nn.parameter.Parameter", "the class of the tensor m is not the same in every call"),
    ],
)
def test_what_is_no_tensor_in_some_calls(found: str, said: str) -> None:
    text = f"expected type of 'm' to be a tensor type, ' but found <class '{found}'>"
    assert sentence(reported_differences(text, NO_CALL), True, str) == said


def test_a_relation_is_spelled_as_the_program_spells_it() -> None:
    found = reported_differences("L['a'].size()[0] <= L['self']._modules['fc']._parameters['w'].size()[1]", NO_CALL)
    assert stated(found) == ("a.size(0) <= self.fc.w.size(1)", "")
    assert sentence(found, True, str) == "a.size(0) <= self.fc.w.size(1) holds in some calls, and not in others"


def test_a_storage_offset_is_none_of_the_names() -> None:
    found = reported_differences("2 <= L['x'].storage_offset()", NO_CALL)
    assert stated(found)[0] == "x.storage_offset() >= 2" and found[0].source == "L['x']" and advice(found) == ()


def test_equal_sizes_need_a_way_out_only_where_no_line_asks() -> None:
    found = reported_differences("x.size()[1] == x.size()[0]", NO_CALL)
    assert [use.id for use in advice(found)] == ["unequal-sizes"]
    assert advice(found, Place("train.py", 3)) == ()


def test_a_difference_of_another_depyf_is_shown() -> None:
    newer = Difference("of another depyf", "L['x']", wanted=GuardSide("this"), found=GuardSide("that"))
    assert stated((newer,)) == ("this", "that") and advice((newer,)) == ()
    assert guard_text("its text", (newer,)) == "its text"


def test_differences_are_stored_as_they_are() -> None:
    text = "tensor 'x' size mismatch at index 0. expected 3, actual 4"
    record = recompile_record("0/0", text, None, reported_differences(text, NO_CALL))
    assert record.differences[0].found == GuardSide("4", "int")
    assert made(RecompileRecord, json.loads(json.dumps(plain(record))), "a record") == record
