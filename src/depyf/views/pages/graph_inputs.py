"""``__compiled_fn_K.STAGE.N.json``: inputs, constants and calling convention of a graph, as data.

Input: the ``GraphFacts`` of a record.  Output invariant: JSON, one input or constant per line, defaults left out; the
same run gives the same text.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from depyf.run.graphs.graph_facts import GraphFacts
from depyf.run.store.codec import plain

_json = json.JSONEncoder(ensure_ascii=False).encode
"""As ``json.dumps``, which makes an encoder each time."""


def inputs_page(facts: GraphFacts) -> str:
    """The JSON text."""
    parts = [
        f' "{name}": {_lines(values)}' for name, values in (("inputs", facts.inputs), ("constants", facts.constants))
    ]
    parts.append(f' "symbols": {json.dumps(dict(facts.symbols))}')
    parts.append(f' "modes": {json.dumps(plain(facts.modes) if facts.modes is not None else {}, sort_keys=True)}')
    if facts.functions:
        parts.append(f' "functions": {json.dumps(dict(facts.functions))}')
    if facts.aot is not None:
        parts.append(f' "aot": {json.dumps(dataclasses.asdict(facts.aot))}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _lines(values: tuple[Any, ...]) -> str:
    if not values:
        return "[]"
    return "[\n" + ",\n".join("  " + _json(_short(value)) for value in values) + "\n ]"


def _short(value: Any) -> Any:
    """A dataclass as a dictionary without the fields that have their default values."""
    if not dataclasses.is_dataclass(value):
        return value
    found = {}
    for field in dataclasses.fields(value):
        item = getattr(value, field.name)
        if field.default is dataclasses.MISSING or item != field.default:
            found[field.name] = _short(item)
    return found
