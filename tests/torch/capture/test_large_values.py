"""What Dynamo rebuilds at once: dicts and sets of any size and with any keys, wide calls, modules as values."""

from __future__ import annotations

import enum

import pytest
from dumps import check_dump, check_substituted, files_of

import depyf

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


class Kind(enum.Enum):
    A0, A1, A2, A3, A4, A5, A6, A7, A8, A9 = range(10)
    B0, B1, B2, B3, B4, B5, B6, B7, B8, B9 = range(10, 20)


class Deep(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = torch.nn.ModuleList([torch.nn.Linear(2, 2) for _ in range(20)])

    def forward(self, x):
        found = dict(self.named_modules())
        torch._dynamo.graph_break()
        return found["parts.7"](x), len(found)


def by_name(x, keys):
    found = {k: x + 1 for k in keys}  # noqa: C420 (that is what Dynamo sees)
    torch._dynamo.graph_break()
    return found[keys[3]] + len(found)


def by_member(x, keys):
    found = {k: x * k.value for k in Kind}
    torch._dynamo.graph_break()
    return found[Kind.B1] + len(found)


def by_tensor(x, keys):
    tensors = [x + i for i in range(18)]
    found = {t: i for i, t in enumerate(tensors)}
    torch._dynamo.graph_break()
    return sum(found.values()) + x


def by_tuple(x, keys):
    found = {(k, 1): [x, {k: x}] for k in keys}
    torch._dynamo.graph_break()
    return found[keys[5], 1][0] + 1


def nested(x, keys):
    found = {k: {j: x for j in keys} for k in keys[:17]}  # noqa: C420
    torch._dynamo.graph_break()
    return found[keys[2]][keys[19]] * 2


def in_a_set(x, keys):
    found = {k + "!" for k in keys} | {k + "?" for k in keys}
    torch._dynamo.graph_break()
    return x + len(found)


def members_in_a_set(x, keys):
    found = {(k, i) for k in Kind for i in range(2)}
    torch._dynamo.graph_break()
    return x + len(found)


def wide(x, keys):
    rows = tuple([x + i for i in range(300)])
    torch._dynamo.graph_break()
    return sum(rows), [*rows, x]


def given(*args, **kwargs):
    return len(args), sorted(kwargs)


def wide_call(x, keys):
    y = x + 1
    torch._dynamo.disable(given)(*[y] * 300, **{k: y for k in keys})  # noqa: C420
    return y * 2


def kept(x, keys):
    return {k: (x + 1, keys) for k in keys}, x  # noqa: C420


def module(x, keys):
    found = torch.get_device_module("cpu")
    torch._dynamo.graph_break()
    return x + 1, found


def module_returned(x, keys):
    return x + 1, torch.get_device_module("cpu")


KEYS = [f"k{number}" for number in range(20)]
FUNCTIONS = (
    by_name, by_member, by_tensor, by_tuple, nested, in_a_set, members_in_a_set, wide, wide_call, kept, module, module_returned,
)  # fmt: skip


def _shown(value):
    """``value`` with tensors as lists, to compare."""
    if isinstance(value, torch.Tensor):
        return value.tolist()
    if isinstance(value, dict):
        return [(key if isinstance(key, str) else repr(key), _shown(item)) for key, item in value.items()]
    return [_shown(item) for item in value] if isinstance(value, (list, tuple)) else value


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_all_of_it_is_proven_and_runs(tmp_path, function):
    torch._dynamo.reset()
    plain = function(torch.ones(2), KEYS)
    with depyf.prepare_debug(tmp_path):
        found = torch.compile(function, backend="eager")(torch.ones(2), KEYS)
    assert _shown(found) == _shown(plain)
    _proven(tmp_path)


def test_modules_of_a_module(tmp_path):
    torch._dynamo.reset()
    model = Deep()
    plain = model(torch.ones(2))
    with depyf.prepare_debug(tmp_path):
        found = torch.compile(model, backend="eager")(torch.ones(2))
    assert _shown(found) == _shown(plain)
    text = _proven(tmp_path)
    assert '"parts.19": ' in text and "dict(" not in text


def _proven(folder):
    manifest = check_dump(folder)
    check_substituted(manifest)
    names = files_of(manifest, kind="transformed_code")
    assert names
    text = "".join([(folder / name).read_text(encoding="utf-8") for name in names])
    assert "__temp" not in text and "value_" not in text
    return text
