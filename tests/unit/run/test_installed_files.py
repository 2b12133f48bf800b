"""Files of libraries, told by their path alone."""

import pytest

from depyf.run.installed_files import installed, library_file, of_library


@pytest.mark.parametrize(
    ("filename", "package", "library", "shown"),
    [
        ("/env/lib/python3.11/site-packages/torch/optim/sgd.py", True, True, "torch/optim/sgd.py"),
        ("/usr/lib/python3.12/logging/__init__.py", False, True, "logging/__init__.py"),
        ("/usr/lib/python3/dist-packages/numpy/linalg.py", True, True, "numpy/linalg.py"),
        ("C:\\env\\Lib\\site-packages\\timm\\models.py", True, True, "timm\\models.py"),
        ("<frozen importlib._bootstrap>", False, True, "<frozen importlib._bootstrap>"),
        ("/home/me/site-packages.py", False, False, "/home/me/site-packages.py"),
    ],
)
def test_by_path(filename, package, library, shown):
    assert (installed(filename), of_library(filename), library_file(filename)) == (package, library, shown)
