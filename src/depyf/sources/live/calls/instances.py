"""The objects of a class, of those that Python's garbage collector knows.

Input: a class of a library, by its module and name.  Output: its instances; none where the module is not imported.
Nothing of the objects is asked but their class.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from typing import Any


def instances_of(module: str, name: str) -> list[Any]:
    """The live instances of the class ``name`` in ``module`` and of its subclasses; [] where it is not imported."""
    found = sys.modules.get(module)
    base = vars(found).get(name) if found is not None else None
    if not isinstance(base, type):
        return []
    kinds = frozenset(_below(base))
    return [one for one in gc.get_objects() if type(one) in kinds]


def _below(kind: type) -> Iterator[type]:
    yield kind
    subclasses: list[type] = type.__subclasses__(kind)
    for one in subclasses:
        yield from _below(one)
