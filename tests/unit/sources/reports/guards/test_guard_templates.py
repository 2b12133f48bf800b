"""What is read for one value is what would be read for the other."""

from __future__ import annotations

import pytest

from depyf.sources.reports.guards.guard_templates import GuardTemplates
from depyf.sources.reports.guards.guard_text import PLAIN_READER, of_any_object

SOURCES = [
    "L['x']", "L['self']._modules['layers']._modules['0'].weight", "G['config']", "L['d'][3]", "L",
    "list(dict.keys(L['self']._modules))[0]", "dict(type(L['m']).__mro__[1].__dict__)['f'].__code__",
    "G['R']._CAN[\"<class 'a.B'>\"]", "L['a, 5)']", "L['a # b']", "L['f'](1, 2222222)", "L['x'] if a else L['y']",
    "___unnamed_scope_139871234567890_c94", "G['__import_a_dot_b_139871234567890_c94']", 'L["quote\'s"]', "L['d'].keys()",
]  # fmt: skip
TEXTS = [
    ("TYPE_MATCH", "___check_type_id({}, 139871234567890), type=<class 'a.B'>"),
    ("ID_MATCH", "___check_obj_id({}, 139871234567891), type=<class 'function'>"),
    ("DICT_CONTAINS", "not ___dict_contains('k', {})"), ("EQUALS_MATCH", "{} == 3"), ("EQUALS_MATCH", "{} == 1e-05"),
    ("EQUALS_MATCH", "{}.eps == (1, 2.5)"), ("EQUALS_MATCH", "{} == <Color.RED: 1>"), ("LENGTH_CHECK", "not {}"),
    ("TRUE_MATCH", "{} == True"), ("SET_CONTAINS", "1 in {}"), ("NONE_MATCH", "{} is None"), ("HASATTR", "not hasattr({}, 'k')"),
    ("TENSOR_ALIASING", "{} is {}"), ("ODD", "unknown_check({}, 'a')"), ("DICT_VERSION", "___dict_version({}) == 123456789"),
    ("TENSOR_MATCH", "check_tensor({}, Tensor, DispatchKeySet(CPU), torch.float32, device=None, requires_grad=False, size=[2], stride=[1])"),
    ("MARKING", "({}._dynamo_dynamic_indices.issubset({{0}}) if hasattr({}, '_dynamo_dynamic_indices') else True)"),
    ("METADATA", "___check_metadata_139871234567890_c1"), ("EQUALS_MATCH", "{} == inf"), ("EQUALS_MATCH", "{} == device(type='cpu')"),
]  # fmt: skip


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(("kind", "text"), TEXTS)
def test_a_template_says_what_the_text_says(kind: str, text: str, source: str) -> None:
    templates = GuardTemplates(PLAIN_READER.read)
    templates.read(kind, text.replace("{}", "L['another']").replace("{{", "{").replace("}}", "}"), "L['another']")
    text = text.replace("{}", source).replace("{{", "{").replace("}}", "}")
    for _ in range(2):
        assert templates.read(kind, text, source) == PLAIN_READER.read(kind, text, source)


def test_a_model_of_many_layers_is_read_once() -> None:
    asked: list[str] = []

    def read(kind: str, text: str, source: str) -> tuple[str, str]:
        asked.append(text)
        return PLAIN_READER.read(kind, text, source)

    templates = GuardTemplates(read)
    for number in range(500):
        source = f"L['self']._modules['layers']._modules['{number}']._modules['fc'].bias"
        _, expression = templates.read("TYPE_MATCH", f"___check_type_id({source}, 94), type=<class 'int'>", source)
        assert expression == f"type_is({source}, 'int')"
    assert len(asked) == 1


def test_what_is_remembered_is_bounded() -> None:
    templates = GuardTemplates(PLAIN_READER.read)
    for number in range(5000):
        templates.read("EQUALS_MATCH", f"L['x{number}'] == {number}", f"L['x{number}']")
    assert max(len(templates._known), len(templates._plain)) <= 4096
    templates.clear()
    assert not templates._known
    assert not templates._plain


@pytest.mark.parametrize(
    "text",
    [
        "___check_obj_id({}, 139871234567891), type=<class 'function'>", "___check_obj_id({}, 139871234567891)",
        "___check_obj_id({}, NONE), type=<class 'NoneType'>", "___check_obj_id({}, 12)",
        "___check_obj_id({}, 139871234567891), type=<function f at 0x7f0000000000>",
        "___check_obj_id({}, 139871234567891), type=<class 'a, 1234567)'>", "__check_obj_id(f({}, 1234567), 7654321)",
    ],
)  # fmt: skip
def test_the_number_of_an_object_is_not_read(text: str) -> None:
    guard = text.replace("{}", "L['x']").replace("NONE", str(id(None)))
    assert PLAIN_READER.read("ID_MATCH", of_any_object(guard), "L['x']") == PLAIN_READER.read(
        "ID_MATCH", guard, "L['x']"
    )
