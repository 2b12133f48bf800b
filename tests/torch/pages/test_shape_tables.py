"""``shapes.md`` says which size may be what: checked on programs, and against what torch then does with such sizes."""

from __future__ import annotations

import functools
import json

import pytest
import torch
import torch.nn.functional as F
from dumps import check_dump

import depyf
from depyf.testing import assert_no_recompiles


def views(x, heads):
    b, t, d = x.shape
    h = x.view(b, t, heads, d // heads).transpose(1, 2)
    if t > 16:
        h = h * 2
    return h.reshape(b * heads, t, -1).sum()


def added(x, y, *, more):
    return (x + y).flatten() @ more["w"][0]


def square(d):
    a, (b,) = d["a"], d["rest"]
    return a @ b + a


def taken(x, n):
    k = n.item()
    torch._check(k >= 2)
    torch._check(k <= x.size(0))
    return x[:k].sum()


def marked(x):
    return F.pad(x, (0, 3)) * 2


def fixed(x):
    return x.view(-1) @ torch.ones(24)


def narrowed(x):
    return x + torch.ones(7)


def rows(x):
    return x * 2


def stacked(x, y):
    return torch.cat([x, y]).view(2, -1)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Function -> its part of the page, and the folder."""
    folder = tmp_path_factory.mktemp("shapes")
    torch._dynamo.reset()
    compiled = {fn.__name__: torch.compile(fn, backend="eager") for fn in (views, added, rows, stacked)}
    for fn in (square, fixed, taken, narrowed):
        compiled[fn.__name__] = torch.compile(fn, backend="eager", dynamic=True)
    with depyf.prepare_debug(folder), torch._dynamo.config.patch(capture_scalar_outputs=True):
        for b, t, d in ((2, 8, 16), (3, 9, 32), (4, 20, 16)):
            compiled["views"](torch.ones(b, t, d), 4)
        for n in (3, 5):
            compiled["added"](torch.ones(2, n), torch.ones(2, n), more={"w": [torch.ones(2 * n)]})
        compiled["square"]({"a": torch.ones(5, 5), "rest": [torch.ones(5, 5)]})
        compiled["taken"](torch.ones(9, 3), torch.tensor(4))
        compiled["fixed"](torch.ones(4, 6))
        compiled["narrowed"](torch.ones(2, 7))
        for n in (4, 6, 1):
            compiled["rows"](torch.ones(n, 3))
        for n in (4, 6):
            compiled["stacked"](torch.ones(n), torch.ones(n + 2))
        x = torch.ones(6, 9)
        torch._dynamo.mark_dynamic(x, 1, min=4, max=64)
        compiled["marked"] = torch.compile(marked, backend="eager")
        compiled["marked"](x)
    with assert_no_recompiles():  # what the tables allow is not compiled again
        for t, d in ((2, 24), (16, 32), (17, 64), (100, 40)):
            compiled["views"](torch.ones(5, t, d), 4)
        x = torch.ones(6, 64)
        torch._dynamo.mark_dynamic(x, 1, min=4, max=64)
        compiled["marked"](x)
        compiled["taken"](torch.ones(9, 3), torch.tensor(9))
    manifest = check_dump(folder)
    assert {"file": "shapes.md", "kind": "shapes", "from": []} in manifest["files"]
    parts = (folder / "shapes.md").read_text().split("\n## ")
    yield {part.split("`")[1]: part for part in parts[1:]}, folder
    torch._dynamo.reset()


def test_ranges_are_those_of_all_guards(tables):
    text = tables[0]["views"]
    assert "| `x` | 1 | s27 | 2 to 16 | 0/1 | test_shape_tables.py:" in text and "`if t > 16:`" in text
    assert "17 or more" in text and "multiples of 4 from" in text
    assert "`h = x.view(b, t, heads, d // heads).transpose(1, 2)`, `view`" in text


def test_equalities_with_line_and_operator(tables):
    text = tables[0]["added"]
    assert "= `x.size(1)`" in text and '`return (x + y).flatten() @ more["w"][0]`, `add`' in text
    assert "`more['w'][0]` | 0 |" in text and "= `2*x.size(1)`" in text


def test_duck_sizing_in_words(tables):
    text = tables[0]["square"]
    assert "sizes 0 and 1 of d['a'] were equal in the call that was compiled, so torch takes them for one" in text
    assert "d['a'].size(0) and d['rest'][0].size(1) were equal" in text


def test_constants_say_where_and_by_which_operator(tables):
    assert "`matmul`: `x.size(0)*x.size(1) == 24`" in tables[0]["fixed"]
    assert "| `x` | 1 | s27 | 7, a constant | " in tables[0]["narrowed"]
    assert "`return x + torch.ones(7)`, `add` |" in tables[0]["narrowed"]
    assert "1, a constant | 6/2 | torch takes sizes 0 and 1 for constants" in tables[0]["rows"]
    assert "In 6/0 `x.size(0)` = 4: torch takes a size for a constant until it has changed" in tables[0]["rows"]


def test_marked_sizes(tables):
    assert "| `x` | 1 | s27 | 4 to 64 | 8/0 | mark_dynamic(min=..., max=...) |" in tables[0]["marked"]


def test_numbers_out_of_tensors(tables):
    text = tables[0]["taken"]
    assert "`n.item()` | the number |" in text
    assert "torch._check(k >= 2)" in text


def test_each_fact_once(tables):
    for name, text in tables[0].items():
        rows_of = [line for line in text.splitlines() if line.startswith("| ")]
        assert len(rows_of) == len(set(rows_of)), name
        assert len(text.splitlines()) < 30, name


def test_manifest_has_all(tables):
    manifest = json.loads((tables[1] / "manifest.json").read_text())
    entries = {e["compile_id"]: e for f in manifest["functions"] if f["function"] == "views" for e in f["entries"]}
    (t,) = [s for s in entries["0/1"]["symbols"] if s["sources"] == ["L['x'].size()[1]"]]
    assert (t["range"], t["final_range"], t["dynamic"]) == ("[2, int_oo]", "[2, 16]", "changed")
    assert {"operator": "view", "expression": "Eq(Mod(s53, 4), 0)"}.items() <= next(
        c for c in entries["0/1"]["shape_conditions"] if "Mod" in c["expression"]
    ).items()


class Double(torch.nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.c, self.n = torch.nn.Conv2d(i, o, 3, padding=1), torch.nn.GroupNorm(2, o)

    def forward(self, x):
        return F.relu(self.n(self.c(x)))


class Narrow(torch.nn.Module):
    """A UNet of two levels."""

    def __init__(self):
        super().__init__()
        self.down, self.mid, self.up = Double(3, 4), Double(4, 8), Double(12, 4)

    def forward(self, x):
        skip = self.down(x)
        x = F.interpolate(self.mid(F.max_pool2d(skip, 2)), scale_factor=2, mode="nearest")
        if x.shape[-2:] != skip.shape[-2:]:
            x = F.pad(x, (0, skip.shape[-1] - x.shape[-1], 0, skip.shape[-2] - x.shape[-2]))
        return self.up(torch.cat([skip, x], dim=1))


def test_a_unet_with_many_sizes_fits_a_screen(tmp_path):
    torch._dynamo.reset()
    model = torch.compile(Narrow(), backend="eager")
    with depyf.prepare_debug(tmp_path):
        for h, w in ((48, 48), (50, 50), (64, 48), (47, 33), (72, 80)):
            model(torch.ones(1, 3, h, w))
    text = (tmp_path / "shapes.md").read_text()
    assert len(text.splitlines()) < 40
    assert "multiples of 2 from" in text and "`if x.shape[-2:] != skip.shape[-2:]:`" in text
    assert "torch's choice: which convolution runs" in text
    section = (tmp_path / "index.md").read_text().split("## Dynamic shapes")[1].split("\n## ")[0]
    assert len(section.strip().splitlines()) <= 5 and "[shapes.md](shapes.md)" in section
    torch._dynamo.reset()


def test_no_page_without_symbols(tmp_path):
    torch._dynamo.reset()
    with depyf.prepare_debug(tmp_path):
        torch.compile(functools.partial(torch.mul, 2), backend="eager")(torch.ones(3))
    assert not (tmp_path / "shapes.md").exists()


def test_explain_tells_shapes_without_a_recording():
    torch._dynamo.reset()
    compiled = torch.compile(views, backend="eager")
    assert depyf.explain(compiled).shapes is None
    for b, t, d in ((2, 8, 16), (3, 9, 32), (4, 20, 16)):
        compiled(torch.ones(b, t, d), 4)
    shapes = depyf.explain(compiled).shapes
    told = {(row.name.text, entry): row.allowed for row in shapes.sizes for entry in row.entries}
    assert told["x.size(1)", "0/1"] == "2 to 16" and told["x.size(1)", "0/2"] == "17 or more"
    assert told["x.size(2)", "0/2"].startswith("multiples of 4 from")
    assert f"test_shape_tables.py:{views.__code__.co_firstlineno + 3}" in str(shapes) and json.dumps(shapes.to_json())
    torch._dynamo.reset()


def test_what_was_compiled_before_the_recording_has_a_table(tmp_path):
    torch._dynamo.reset()
    compiled = torch.compile(views, backend="eager", dynamic=True)
    compiled(torch.ones(3, 9, 32), 4)
    with depyf.prepare_debug(tmp_path):
        compiled(torch.ones(3, 9, 32), 4)
    assert "| `x` | 1 |  | 2 to 16 | 0/0 |" in (tmp_path / "shapes.md").read_text()
    torch._dynamo.reset()


def test_what_torch_asks_without_a_guard_pins_nothing(tmp_path):
    """A backend may look at a size and let other sizes run: AOT Autograd compares strides so for the backward."""

    def asks(graph, inputs):
        size = next(value for value in inputs if isinstance(value, torch.SymInt))
        with size.node.shape_env.suppress_guards():
            assert size == 24
        return graph.forward

    def f(x):
        return x.sin()

    torch._dynamo.reset()
    compiled = torch.compile(f, backend=asks, dynamic=True)
    with depyf.prepare_debug(tmp_path / "dump"):
        for size in (24, 32):
            compiled(torch.ones(size))
    page = (tmp_path / "dump" / "shapes.md").read_text()
    assert "| `x` | 0 |" in page and "2 or more" in page and "| 24 |" not in page
