"""The text of generated code has no temporary without a name of its own."""

from __future__ import annotations

import ast
import functools
import re

import pytest
import torch
from dumps import check_dump, check_substituted

import depyf

pytestmark = pytest.mark.torch


def transformed_texts(folder):
    manifest = check_dump(folder)
    check_substituted(manifest)
    return [(folder / item["file"]).read_text() for item in manifest["files"] if item["kind"] == "transformed_code"]


def wrapped(func):
    @functools.wraps(func)
    def wrapper(self, *args, **kwargs):
        settings = self.config
        out = func(self, *args, **kwargs)
        return out + 1, settings

    return wrapper


class Wrapped(torch.nn.Module):
    config = 3

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    @wrapped
    def forward(self, input_ids, labels=None, position_embeddings_with_a_long_name=None):
        x = self.linear(input_ids)
        torch._dynamo.graph_break()
        return x * labels


@torch.compiler.disable
def report(value, message):
    return value


def formats(x, y):
    z = x + y
    return report(z, "{} {}".format("rows:", x.shape[0])) * z


def variables(text):
    return {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}


def test_arguments_as_a_dict(tmp_path):
    x = torch.ones(2, 4)
    with depyf.prepare_debug(tmp_path):
        model = torch.compile(Wrapped(), backend="eager")
        model(input_ids=x, labels=x, position_embeddings_with_a_long_name=x)
        model(x, x)
    texts = transformed_texts(tmp_path)
    assert not [name for text in texts for name in variables(text) if re.fullmatch(r"(value|tmp)_\d+", name)]
    # torch 2.6 reads settings, an attribute as any other, between the dict and the call
    assert any(re.search(r'\binput_ids=\w+,|entries = \{\n +"input_ids": [^*]*\*\*entries\)', text) for text in texts)
    # and the parameters of a module one by one
    assert any(
        'linear_parameters = self._modules["linear"]._parameters' in text
        or 'self._modules["linear"]._parameters["weight"],' in text
        for text in texts
    )
    assert any(
        re.search(r'(?:settings|config) = (__import_builtins\.type\(self\)\.__dict__\["config"\]|self\.config)\n', text)
        for text in texts
    )


def test_text_of_a_message(tmp_path):
    with depyf.prepare_debug(tmp_path):
        compiled = torch.compile(formats, backend="eager", dynamic=True)
        for rows in (3, 5):
            compiled(torch.ones(rows, 4), torch.ones(rows, 4))
    texts = transformed_texts(tmp_path)
    assert not [name for text in texts for name in variables(text) if re.fullmatch(r"value_\d+", name)]
    assert any("format_result = " in text for text in texts)


def returned(x):
    torch._dynamo.graph_break()
    return x * 2


def passes_keywords(x, **named):
    return report(x, **{**named, "message": returned(x)})


@pytest.mark.parametrize("more", [{}, {"message": 2}])
def test_keywords_made_before_the_break(more, tmp_path):
    """The dict of a call's keywords lies on the stack while an argument breaks the graph; the rest calls with it as it is."""
    with depyf.prepare_debug(tmp_path):
        found = torch.compile(passes_keywords, backend="eager")(torch.ones(2), **more)
    assert torch.equal(found, torch.ones(2))
    texts = transformed_texts(tmp_path)
    assert any("**" in text for text in texts), texts


def indexed_by_a_mask(points, scores, mask):
    torch._dynamo.graph_break()
    mask = mask & (scores > 0)
    return points[mask], scores[mask]


@pytest.mark.parametrize("dynamic", [True, None])
def test_outputs_of_a_graph_that_another_one_is_indexed_with(dynamic, tmp_path):
    with depyf.prepare_debug(tmp_path):
        compiled = torch.compile(indexed_by_a_mask, backend="eager", dynamic=dynamic)
        compiled(torch.ones(3, 2), torch.ones(3), torch.ones(3) > 0)
    assert not any(re.search(r"\bvalue_\d", text) for text in transformed_texts(tmp_path))


def test_read_inside_of_a_graph_call(tmp_path):
    """The second step of a scheduled optimizer makes a tensor of the rate before it reads the parameters."""
    model = torch.nn.Linear(4, 4)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=5)

    @torch.compile(backend="eager")
    def step():
        optimizer.step()
        schedule.step()

    with depyf.prepare_debug(tmp_path):
        for _ in range(2):
            optimizer.zero_grad()
            model(torch.ones(2, 4)).sum().backward()
            step()
    texts = transformed_texts(tmp_path)
    assert not [name for text in texts for name in variables(text) if re.fullmatch(r"(value|tmp)_\d+", name)]


def three_results(x, y):
    torch._dynamo.graph_break()
    return x + y


def test_lines_are_as_long_as_they_are_shown(tmp_path):
    """Dynamo's names of graphs are longer than the dump's: a call that fits on a line stands on one."""
    with depyf.prepare_debug(tmp_path):
        torch.compile(three_results, backend="eager")(torch.ones(2), torch.ones(2))
        model = torch.compile(torch.nn.Linear(4, 4), backend="eager")
        model(torch.ones(2, 4))
    texts = transformed_texts(tmp_path)
    calls = [line for text in texts for line in text.splitlines() if " __compiled_fn_" in line and "#" not in line]
    broken = [line for line in calls if line.endswith("(")]
    assert any(" __compiled_fn_" in text for text in texts) and not broken, broken


def test_keys_of_a_dictionary_that_is_an_argument(tmp_path):
    """What ``singledispatch`` has found goes into its cache: the key is computed before what stands after it, and is let go."""

    @functools.singledispatch
    def shifted(value):
        return value

    shifted.register(torch.Tensor, lambda value: value + 1)
    shifted.register(list, lambda items: [shifted(item) for item in items])
    with depyf.prepare_debug(tmp_path / "d"):
        torch.compile(lambda x: shifted([x, x * 2]), backend="eager")(torch.ones(3))
    texts = transformed_texts(tmp_path / "d")
    for text in texts:
        assert not [name for name in variables(text) if re.fullmatch(r"(value|tmp)_\d+", name)], text
    if len(texts) == 1:  # 2.6 breaks the graph at the dispatcher instead of looking into it
        assert "ref(" in texts[0] and "del ref_result" not in texts[0]


def shifted_in_a_block(x, scale):
    y = torch.relu(x)
    with torch.no_grad():
        z = three_results(y, scale)
    return z


def test_a_break_in_a_block(tmp_path):
    """torch 2.15 keeps sizes on the stack over its question about the profiler, where the block's values lie later."""
    with depyf.prepare_debug(tmp_path):
        torch.compile(shifted_in_a_block, backend="eager", dynamic=True)(torch.ones(3, 4), torch.ones(4))
    for text in transformed_texts(tmp_path):
        assert not [name for name in variables(text) if re.fullmatch(r"(value|tmp)_\d+", name)], text


class Kept:
    def __init__(self):
        self.items = [0, 1]


def changes_and_breaks(x, kept):
    kept.items[0] = x.sum()
    torch._dynamo.graph_break()
    return x + 1


def test_what_a_call_gave_to_a_resume_function(tmp_path):
    """``___stack0`` says nothing; it is named after the call."""
    with depyf.prepare_debug(tmp_path):
        torch.compile(changes_and_breaks, backend="eager")(torch.ones(3), Kept())
    before = next(text for text in transformed_texts(tmp_path) if "def __transformed_code_0_0" in text)
    assert "___stack" not in before
    assert "graph_break_result" in before or "graph_break()," in before, before
