"""What torch's names of sources are called."""

from __future__ import annotations

import pytest

from depyf.run.advice.source_names import named


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("L['self']._modules['cache'].size", "self.cache.size"),
        ("L['view'].stride", "view.stride"),
        ("L['x']", "x"),
        ("len(L['x'].size)", "len(x.size)"),
        ("G['MODE']", "the global MODE"),
    ],
)
def test_an_attribute_is_no_method_whatever_it_is_called(source: str, name: str) -> None:
    assert named(source) == name
