"""The JSON schema of a line of ``run.jsonl``, made of the classes of the records: there is no other.

Output: a schema of draft 2020-12.  Descriptions are the docstrings of classes and fields, so it needs the sources, and
is made where the documentation is.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import functools
import inspect
import textwrap
import types
import typing
from typing import Any, get_args, get_origin

from depyf.run.store.codec import stored_fields
from depyf.run.store.lines import KINDS
from depyf.safety.unheard import parse

_SIMPLE = {str: "string", int: "integer", bool: "boolean", float: "number", type(None): "null"}


def line_schema() -> dict[str, Any]:
    """The schema of one line."""
    definitions: dict[str, Any] = {}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://depyf.readthedocs.io/en/latest/reference/run.schema.json",
        "title": "a line of run.jsonl of a dump of depyf",
        "type": "object",
        "minProperties": 1,
        "maxProperties": 1,
        "properties": {name: _schema(kind, definitions) for name, kind in KINDS.items()},
        "$defs": definitions,
    }


def _schema(hint: Any, known: dict[str, Any]) -> dict[str, Any]:
    if hint in _SIMPLE:
        return {"type": _SIMPLE[hint]}
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return {"enum": [member.value for member in hint]}
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        if hint.__name__ not in known:
            known[hint.__name__] = {}
            known[hint.__name__] = _of_record(hint, known)
        return {"$ref": f"#/$defs/{hint.__name__}"}
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return {"anyOf": [_schema(part, known) for part in parts]}
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema(parts[1], known)}
    if parts[-1] is Ellipsis:
        return {"type": "array", "items": _schema(parts[0], known)}
    return {
        "type": "array",
        "prefixItems": [_schema(part, known) for part in parts],
        "minItems": len(parts),
        "maxItems": len(parts),
    }


def _of_record(kind: type, known: dict[str, Any]) -> dict[str, Any]:
    meanings = _meanings(kind)
    fields = stored_fields(kind)
    return {
        "type": "object",
        "description": textwrap.dedent(kind.__doc__ or "").strip().replace("``", "`"),
        "properties": {
            field.key: {
                **_schema(field.hint, known),
                **({"description": said} if (said := meanings.get(field.name)) else {}),
            }
            for field in fields
        },
        "required": [field.key for field in fields if field.default is dataclasses.MISSING],
    }  # fmt: skip


@functools.cache
def _meanings(kind: type) -> dict[str, str]:
    """Field -> the text that stands after it in the class."""
    body = parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(body, ast.ClassDef)
    found = {}
    for field, after in zip(body.body, body.body[1:]):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
            and isinstance(after.value.value, str)
        ):
            found[field.target.id] = " ".join(after.value.value.replace("``", "`").split())
    return found
