"""Code that Dynamo writes twice is decompiled once, and comes out as if it had been decompiled alone."""

from __future__ import annotations

import pytest
from dumps import check_dump, check_substituted, files_of
from torch_programs import same

from depyf.api import prepare_debug
from depyf.decompiler.driver.pipeline import decompile_code
from depyf.sources.live.caches.decompilation_cache import AlikeCodes
from depyf.sources.live.generated import generated_options

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

BODY = """
def {name}(x, items):
    y = __compiled_fn_{graph}(x, {constant})[0]
    if y:
        return __resume_at_{line}_3(items, y)
    return items.{attribute}
"""


def code(name="f", graph="0_aa", constant="1", line="20", attribute="last", first=0):
    namespace = {}
    text = "\n" * first + BODY.format(name=name, graph=graph, constant=constant, line=line, attribute=attribute)
    exec(compile(text, "<made>", "exec"), namespace)
    return namespace[name].__code__


def key(made):
    return AlikeCodes().key(made, generated_options(made, made))


def alone(made, name):
    return decompile_code(made, name=name, options=generated_options(made, made))


def known(made):
    alike = AlikeCodes()
    alike.keep(key(made), made, "one", alone(made, "one"))
    return alike


def test_other_names_and_another_place():
    made = code("g", graph="7_bb", line="41", first=11)
    found = known(code()).find(key(made), made, "two")
    wanted = alone(made, "two")
    assert found is not None and found.source == wanted.source and found.linemap == wanted.linemap
    assert [(v.qualname, v.status, v.reason) for v in found.verdicts] == [
        (v.qualname, v.status, v.reason) for v in wanted.verdicts
    ]
    for name in ("co_code", "co_names", "co_consts", "co_varnames", "co_name", "co_flags", "co_firstlineno"):
        assert getattr(found.code, name) == getattr(wanted.code, name), name


def test_the_function_that_makes_it_goes_by_its_name():
    def closure(name, graph):
        namespace = {}
        text = f"def outer(layer):\n    def {name}(x):\n        return __compiled_fn_{graph}(x, layer)\n    return {name}\n"
        exec(compile(text, "<made>", "exec"), namespace)
        return namespace["outer"](1).__code__

    made = closure("g", "7_bb")
    found = known(closure("f", "0_aa")).find(key(made), made, "two")
    assert found is not None and found.source == alone(made, "two").source
    assert "def __make_two(layer):" in found.source


@pytest.mark.parametrize(
    "change",
    [
        {"constant": "2"}, {"constant": "1.0"}, {"constant": "True"}, {"attribute": "first"},
        {"constant": "lambda: 1"},
    ],
    ids=str,
)  # fmt: skip
def test_what_differs_in_more_is_another(change):
    alike, made = known(code()), code(**change)
    assert alike.find(key(made), made, "two") is None


def test_zeros_and_swapped_graphs():
    alike, made = known(code(constant="0.0")), code(constant="-0.0")
    assert alike.find(key(made), made, "two") is None
    twice = "def f(x):\n    return __compiled_fn_{}(x), __compiled_fn_{}(x), __compiled_fn_0(x)\n"
    codes = []
    for order in ((0, 1), (1, 0)):
        namespace = {}
        exec(twice.format(*order), namespace)
        codes.append(namespace["f"].__code__)
    assert key(codes[0]) != key(codes[1])


def test_layers_compiled_one_by_one(tmp_path):
    """Twelve frames of one shape: the same results, each with text, proof and lines of its own."""

    def make(number):
        namespace = {"torch": torch}
        text = f"def layer_{number}(x):\n    y = torch.sin(x) * {number}\n    print(end='')\n    return y + {number}\n"
        exec(compile("\n" * number + text, __file__, "exec"), namespace)
        return namespace[f"layer_{number}"]

    layers = [make(number) for number in range(2, 8)]

    def run():
        return [torch.compile(layer, backend="eager")(torch.ones(3)) for layer in layers]

    want = run()
    torch._dynamo.reset()
    with prepare_debug(tmp_path):
        got = run()
    assert same(want, got)
    manifest = check_dump(tmp_path)
    check_substituted(manifest)
    names = [name for name in files_of(manifest, kind="transformed_code") if "_for_layer_" in name]
    assert len(names) == 6
    for name in names:
        number = int(name.removesuffix(".py").rpartition("_")[2])
        text = (tmp_path / name).read_text()
        assert f"test_alike.py:{number + 3}" in text and f"def {name.removesuffix('.py')}(" in text
