"""The functions that an advice adds to an option of torch.

Input: a name.  Output: the function of this process; only plain values of the standard library are looked at.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from typing import Any

_NAMED = {
    "print": ("builtins", "print"),
    "warnings.warn": ("warnings", "warn"),
}
"""The functions that an advice adds to an option, and where they are."""
OF_LOGGERS = "logging.Logger."
"""How the name of a logger's method begins; libraries add methods to the class (``warning_once`` of transformers)."""


def function_named(name: str) -> Any:
    """The function that an advice adds to an option, by its name in the advice; None for none."""
    return next((function for known, function in advised_functions() if known == name), None)


def advised_functions() -> Iterator[tuple[str, Any]]:
    """The functions that an advice may add to an option, with their names."""
    for name, (module, attribute) in _NAMED.items():
        if (function := vars(sys.modules[module]).get(attribute) if module in sys.modules else None) is not None:
            yield name, function
    for name, method in vars(logging.Logger).copy().items():
        if not name.startswith("_"):
            yield OF_LOGGERS + name, method
