"""The decorator of the nodes of trees: dataclasses that the type checker keeps frozen, and that are plain ones at run
time.

A frozen dataclass sets each field by ``object.__setattr__``, which takes three times as long, and a module has
thousands of nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["node"]

if TYPE_CHECKING:
    from dataclasses import dataclass as node
else:
    import dataclasses

    def node(*, frozen: bool, slots: bool, eq: bool) -> object:
        """``dataclasses.dataclass``, but that nothing checks whether a field is set again."""
        return dataclasses.dataclass(slots=slots, eq=eq)
