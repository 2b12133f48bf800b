"""Whose a file is, by its path on whatever machine."""

from __future__ import annotations

import ast

import pytest

from depyf.sources.reports.library_files import of_libraries


@pytest.mark.parametrize(
    ("filename", "library"),
    [
        (ast.__file__, True),
        ("/data/env/lib/python3.9/site-packages/torch/nn/modules/module.py", True),
        ("C:\\env\\Lib\\site-packages\\torch\\_tensor.py", True),
        ("/usr/lib/python3.13/contextlib.py", True),
        ("/opt/py/lib/python3.14t/functools.py", True),
        ("<frozen importlib._bootstrap>", True),
        ("/data/env/lib/python3.9/site-packages/transformers/models/bert.py", False),
        ("/data/env/lib/python3.9/site-packages/torchvision/models/resnet.py", False),
        ("/usr/lib/python3/dist-packages/mine.py", False),
        ("/home/me/train.py", False),
    ],
)
def test_of_libraries(filename: str, library: bool) -> None:
    assert of_libraries(filename) is library
