"""The tensors that a captured graph holds itself, such as an optimizer's state: runs for a comparison leave them alone.

Input: a graph.  Output: a context; afterwards these tensors are what they were, bit for bit.  Inside, ``copies`` says
what they are like.
"""

from __future__ import annotations

import operator
from typing import Any

from depyf.sources.live.state.kept_tensors import KeptStorage, KeptTensor, keepable


class GraphTensors:
    """Keeps the tensors of a graph: ``with GraphTensors(gm) as held`` restores them at the end of the block."""

    def __init__(self, gm: Any) -> None:
        names = [name for name in dict.fromkeys(_names(gm)) if keepable(_tensor(gm, name))]
        self._tensors = [KeptTensor(_tensor(gm, name), name) for name in names]
        storages = {kept.storage._cdata: kept for kept in self._tensors}
        self._storages = [KeptStorage(kept.storage, kept.path) for kept in storages.values()]

    def copies(self) -> list[Any]:
        """The tensors as they are now, in the order of their names."""
        return [kept.value.detach().clone() for kept in self._tensors]

    def named(self) -> list[tuple[str, Any]]:
        """The tensors themselves, with their names."""
        return [(kept.path, kept.value) for kept in self._tensors]

    def __enter__(self) -> GraphTensors:
        return self

    def __exit__(self, *_: object) -> None:
        for record in (*self._storages, *self._tensors):
            record.put_back()


def _names(gm: Any) -> list[str]:
    """The names of the tensors that a graph's nodes and its modules hold."""
    of_nodes = [node.target for node in gm.graph.nodes if node.op == "get_attr"]
    return [*of_nodes, *(name for name, _ in gm.named_parameters()), *(name for name, _ in gm.named_buffers())]


def _tensor(gm: Any, name: str) -> Any:
    try:
        return operator.attrgetter(name)(gm)
    except AttributeError:
        return None
