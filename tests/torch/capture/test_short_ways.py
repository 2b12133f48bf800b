"""Ways that leave out work on exit give what the long ways give."""

from __future__ import annotations

import gc
import json
import runpy
import sys

import pytest
import torch

import with_torch
from depyf.api import prepare_debug
from depyf.run.files.manifest import indented
from depyf.run.graphs.sample_run import sample_run
from depyf.sources.live.caches import seen_code
from depyf.sources.reports.guards import guard_names, guard_remarks

pytestmark = pytest.mark.torch

GUARDS = [
    "same_value(L['x'].a, 'b')", "same_value(L['x'][0], -1)", "same_value(L['x'], 0.5)", "same_value(L['x'], 007)",
    "not ___dict_contains('k', L['x'].y)", 'not ___dict_contains("k", L["x"])', "not ___dict_contains('k', L['x'].if)",
    "L['x'].a == 1", "len(L['x']) == 3", "not L['x']", "not ('k' in L['x'])", "not 'k' in L['x']", "'k' not in L['x']",
    "___dict_contains('k', L['x'])", "not ___dict_contains('k', L['x'])", "not set.__contains__(L['x'], 3)",
    "L['x'] == {2, 1}", "L['x'] == {1: 'a'}", "L['x'] == inf", "-nan == L['x']", "device(type='cpu') == L['x']",
    "L['device'] == 1", "L['x'] == 'device # inf'", "L['x'] == 'it\\'s' ", 'L["a\'"] == \'b"\' and unknown', "unknown(L['x'])",
    "same_value(L['x'], 'unknown')", "type_is(L['x'], unknown='int')", "f(L=1)", "str(L['x'], errors='strict')",
    "(lambda unknown: unknown)(L['x'])", "[a for a in L['x']] == []", "b'bytes' == L['x']", "f'{unknown}' == L['x']",
    "math.isnan(L['x'])", "L['x'].device(1)", "L['x'] .unknown", "1e5 == L['x']", "0x1f == L['x']", "(L := 3)", "L['x' # a\n]",
    "'''it's''' == L['x'] == unknown", "None is L['x'] if True else G", "not all in [L]", "L['x'] is not None",
    "check_tensor(L['x'], 'torch.Tensor', torch.float32, size=[None, 3], stride=[], requires_grad=False, device_index=None, keys='CPU')",
    "check_tensor(L['x'], 'torch.Tensor', torch.float32, size=[nan], stride=[1], requires_grad=False, device_index=None, keys='CPU')",
    "check_tensor(L['x'], 'T', torch.float32, size=[03], stride=[1], requires_grad=False, device_index=None, keys='CPU')",
]  # fmt: skip


@pytest.mark.parametrize("text", GUARDS)
@pytest.mark.parametrize("any_names", [False, True])
def test_names_told_by_the_text(text, any_names, monkeypatch):
    short = guard_names.in_python(text, any_names)
    monkeypatch.setattr(guard_names, "_stands_for_itself", lambda text: False)
    for name in ("_EASY", "_LACKS"):
        monkeypatch.setattr(guard_names, name, guard_names.re.compile(r"(?!)"))
    assert short == guard_names.in_python(text, any_names)


@pytest.mark.parametrize(
    "text",
    ["a", "a  # b", "a # b", "a  # b  # c:1 in f", "a   # b", "a  #  # b", "a# b  # c", "#", "# a", "  # a\n  # b"],
)
def test_remarks_told_apart(text):
    assert guard_remarks._remarks(text) == guard_remarks._REMARK.split(text)


def test_json_with_an_indent():
    for value in (
        {},
        [],
        {"a": [], "b": {}, "c": [1, 2.5, None, True, 'é\n"x\u2028'], "d": {"e": [{"f": 1e-9}]}},
        [[1, ()], (2,)],
    ):
        assert indented(value) == json.dumps(value, indent=1, ensure_ascii=False)


def test_who_is_disabled_is_looked_up_once(tmp_path, monkeypatch):
    decorators = pytest.importorskip("torch._dynamo.decorators")
    if not hasattr(decorators, "_nonrecursive_disable_wrapper_code"):
        pytest.skip("this torch has no disable(recursive=False)")

    def first(x):
        return x

    def second(x):
        return x

    kept = [torch.compiler.disable(first, recursive=False)]
    assert first.__code__ in seen_code._disabled()
    looked = []
    monkeypatch.setattr(seen_code.gc, "get_referrers", lambda *objects: looked.append(1) or gc_referrers(*objects))
    assert first.__code__ in seen_code._disabled() and not looked
    kept.append(torch.compiler.disable(second, recursive=False))
    assert {first.__code__, second.__code__} <= set(seen_code._disabled()) and len(looked) == 1
    del kept[0]
    third = torch.compiler.disable(lambda x: x, recursive=False)  # as many as before, and another one
    assert (
        first.__code__ not in seen_code._disabled()
        and third._torchdynamo_orig_callable.__code__ in seen_code._disabled()
    )


gc_referrers = gc.get_referrers


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ('class G(Module):\n    def forward(self, x: "f32[2]", y: "Sym(s0)"):\n        return x', "torch.randn([2], dtype=torch.float32)"),
        ('class G(Module):\n    def forward(\n        self,\n        x: "f32[2]",\n    ) -> object:\n        return x', "torch.randn([2]"),
        ('class G(Module):\n    def forward(self, args_list):\n        a: "f32[3]" = next(args_iter)\n        return a', "torch.randn([3]"),
        ('class G(Module):\n    def forward(self, args_list):\n        a: "f32[3]" = next(args_iter)\n        b = next(args_iter)', ""),
        ('class G(Module):\n    def forward(self, x: "f32[2]"):\n        # see self.w\n        return x', "torch.randn([2]"),
        ('class G(Module):\n    def forward(self, x: "f32[2]"):\n        return self.w', ""),
        ('class G(Module):\n    def forward(self, x: "f32[2]"):\n        return x\n\n    class body(Module):\n        pass', ""),
        ("class G(Module):\n    pass", ""),
    ],
)  # fmt: skip
def test_made_up_inputs(text, runs):
    found = sample_run("G", text)
    assert runs in found if runs else found == ""


def test_the_page_of_a_graph_that_asserts_something_says_so(tmp_path):
    def function(x, mask):
        torch._assert_async(mask.all(), "all of the mask")
        return x[:1] * 2

    with prepare_debug(tmp_path):
        torch.compile(function, backend="aot_eager")(torch.ones(2), torch.ones(2, dtype=torch.bool))
    pages = sorted(tmp_path.glob("__compiled_fn_0_0.*.py"))
    assert len(pages) > 1
    for page in pages:
        ran = with_torch.run([sys.executable, page], imports=with_torch.ALONE)
        assert ran.returncode == 1 and ran.stderr.startswith("This graph asserts something"), ran.stderr
        assert "all of the mask" in ran.stderr and "Traceback" not in ran.stderr


def test_pages_are_python(tmp_path):
    def function(x, items):
        for item in items:
            x = x * item
        return x.relu()

    with prepare_debug(tmp_path):
        torch.compile(function, backend="aot_eager")(torch.ones(3, requires_grad=True), [1.5, 2.5])
    pages = sorted(tmp_path.glob("*.py"))
    assert len(pages) >= 4
    for page in pages:
        compile(page.read_text(), str(page), "exec")


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_pages_run_where_values_are_stored_at_a_mask(tmp_path, backend):
    """As many elements are true as there are values, as in the scripts of the gallery."""

    def function(x, mask, values):
        x = x.clone()
        x[mask] = values
        return x

    x, mask = torch.zeros(4, 6), torch.arange(24).view(4, 6) % 5 == 2
    with prepare_debug(tmp_path):
        torch.compile(function, backend=backend)(x, mask, torch.ones(int(mask.sum())))
    pages = [page for page in tmp_path.glob("__compiled_fn_*.py") if "__main__" in page.read_text()]
    assert len(pages) == (1 if backend == "eager" else 2)
    for page in pages:
        assert "(torch.arange(4 * 6) < 5).view([4, 6])" in page.read_text()
        runpy.run_path(str(page), run_name="__main__")
