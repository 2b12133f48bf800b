"""torch's names of values, taken apart."""

from __future__ import annotations

import pytest

from depyf.run.advice.source_names import (
    SizeSource,
    module_names,
    module_variable,
    named,
    reads_layout,
    reads_strides,
    size_source,
    size_source_text,
    split_global,
    without_mapping,
    without_registries,
)


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        ("L['x'].size()[0]", SizeSource("L['x']", "size", 0)),
        ("L['x'][1].stride()[12]", SizeSource("L['x'][1]", "stride", 12)),
        ("L['x'].storage_offset()", SizeSource("L['x']", "storage_offset", None)),
    ],
)
def test_a_size_is_read_as_it_is_written(source: str, parts: SizeSource) -> None:
    assert size_source(source) == parts and size_source_text(parts) == source
    assert reads_layout(source) and reads_strides(source) == (parts.what != "size")


@pytest.mark.parametrize("source", ["L['x']", "L['x'].size()", "L['x'].size()[0] + 1", ".storage_offset()", ""])
def test_what_is_no_size(source: str) -> None:
    assert size_source(source) is None


def test_modules_on_the_way() -> None:
    source = "L['self']._modules['h']._modules['0']._parameters['weight']"
    assert module_variable(source) == "self" and module_names(source) == ["h", "0"]
    assert named(source) == "self.h.0.weight"
    assert without_registries(source, lambda name: f"/{name}") == "L['self']/h/0/weight"
    assert without_registries("m._modules['a-b'].x") == "m._modules['a-b'].x"
    assert module_variable("L['x'].size()") == "" and module_names("L['x']") == []
    assert without_mapping("L['x'] + G['y']") == "x + G['y']"


def test_the_words_of_a_global_are_split_as_they_were_put() -> None:
    assert split_global(named("G['MODE']")) == ("the global ", "MODE")
    assert split_global(named("L['MODE']")) == ("", "MODE")
