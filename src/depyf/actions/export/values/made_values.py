"""What is known of a value -> an expression that makes one like it.

Input: ``Known``.  Output: text in terms of ``runtime`` (``thing``), ``hooks`` and ``inputs``; models are made by
``model.py`` and stand here as tables.
"""

from __future__ import annotations

import ast
import keyword
from dataclasses import dataclass, field

from depyf.actions.export.texts.hook_list import Hooks
from depyf.actions.export.values.guarded_values import Known
from depyf.run.graphs.value_types import contiguous
from depyf.run.guards.guarded_path import ATTRIBUTE, BUFFER, ITEM, MODULE, PARAMETER, Path
from depyf.safety.unheard import parse

_DICTS = frozenset("dict collections.OrderedDict collections.defaultdict".split())
_ANY = {"int": "0", "float": "0.0", "str": '""', "bool": "False", "bytes": 'b""', "NoneType": "None"}
_INNER = frozenset("__dict__ _modules _parameters _buffers".split())


@dataclass(slots=True)
class Model:
    """An ``nn.Module`` of a call, flat: dotted path -> class; -> tensor; -> the text of another attribute."""

    name: str
    path: str = ""
    kinds: dict[str, str] = field(default_factory=dict)
    parameters: dict[str, str] = field(default_factory=dict)
    buffers: dict[str, str] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)

    def also(self, other: Model) -> None:
        """Add the parts that only ``other``, the same model in another call, has."""
        for own, more in (
            (self.kinds, other.kinds),
            (self.parameters, other.parameters),
            (self.buffers, other.buffers),
            (self.values, other.values),
        ):
            for place, text in more.items():
                own.setdefault(place, text)


class Maker:
    """Writes expressions that make the values of a call.  ``models`` collects the models needed, ``hooks`` the unknown
    values."""

    def __init__(self, hooks: Hooks) -> None:
        self.hooks = hooks
        self.models: dict[str, Model] = {}

    def value(self, known: Known, path: Path) -> str:
        """An expression for the value at ``path``."""
        if known.hook and not known.value:
            self.hooks.want(known.hook, path.text)
            return f"hooks.{known.hook}"
        if known.value and _plain(known.value):
            return known.value
        if known.module:
            return f"importlib.import_module({known.module!r})"
        if known.tensor is not None:
            return self.tensor(known, path)
        if known.is_model:
            return self._model(known, path)
        return self._container(known, path)

    def tensor(self, known: Known, path: Path) -> str:
        """``inputs("x", torch.float32, (4, 8))``."""
        return f"inputs({path.text!r}, {layout(known)})"

    def _container(self, known: Known, path: Path) -> str:
        items = {key: part for (kind, key), part in known.parts.items() if kind == ITEM}
        if known.kind in _DICTS:
            keys = [
                *(key for _, key in sorted(known.keys.items())),
                *(key for key in items if key not in known.keys.values()),
            ]
            made = [f"{key!r}: {self._part(items.get(key), path, key)}" for key in keys]
            text = "{" + ", ".join(made) + "}"
            return text if known.kind == "dict" else f"collections.OrderedDict({text})"
        if known.kind in ("list", "tuple"):
            length = max([known.length or 0, *(key + 1 for key in items if isinstance(key, int) and key >= 0)])
            made = [self._part(items.get(index), path, index) for index in range(length)]
            text = ", ".join(made)
            return f"[{text}]" if known.kind == "list" else f"({text},)" if length == 1 else f"({text})"
        if known.kind in _ANY:
            return _ANY[known.kind]
        attributes = {str(key): part for (kind, key), part in known.parts.items() if kind == ATTRIBUTE}
        given = [
            f"{name}={self.value(part, Path(path.mapping, path.name, (*path.steps, (ATTRIBUTE, name))))}"
            for name, part in attributes.items()
            if name.isidentifier() and not keyword.iskeyword(name) and name not in _INNER
        ]
        if known.kind and not items:
            return f"thing({', '.join([repr(known.kind), *given])})"
        if items or given:
            self.hooks.want(path.slug, f"{path.text}: {known.kind or 'an object'}")
            return f"hooks.{path.slug}"
        return "None"

    def _part(self, known: Known | None, path: Path, key: object) -> str:
        if known is None:
            return "None"
        step = (ITEM, key if isinstance(key, (str, int)) else str(key))
        return self.value(known, Path(path.mapping, path.name, (*path.steps, step)))

    def _model(self, known: Known, path: Path) -> str:
        name = path.slug
        if name not in self.models:
            model = self.models[name] = Model(name, path.text)
            self._flatten(known, path, "", model)
        return f"model.make_{name}(inputs)"

    def _flatten(self, known: Known, path: Path, prefix: str, model: Model) -> None:
        model.kinds[prefix] = known.kind or "torch.nn.Module"
        dot = f"{prefix}." if prefix else ""
        order = {name: number for number, name in known.keys.items()}
        parts = sorted(known.parts.items(), key=lambda item: order.get(str(item[0][1]), len(order)))
        for (kind, key), part in parts:
            at = Path(path.mapping, path.name, (*path.steps, (kind, key)))
            place = f"{dot}{key}"
            if kind == ATTRIBUTE and key in _INNER:
                continue
            if kind == MODULE and not part.value or kind == ATTRIBUTE and part.is_model:
                self._flatten(part, at, place, model)
            elif kind in (PARAMETER, BUFFER) or part.tensor is not None:
                is_parameter = kind == PARAMETER or bool((part.tensor or {}).get("parameter"))
                table = model.parameters if is_parameter else model.buffers
                table[place] = layout(part) if part.tensor is not None else "None"
            elif kind == ATTRIBUTE and not part.empty and str(key).isidentifier() and not str(key).startswith("__"):
                model.values[place] = self.value(part, at)


def layout(known: Known) -> str:
    """``torch.float32, (4, 8), grad=True``."""
    facts = known.tensor or {}
    size = tuple(1 if n is None else int(n) for n in facts.get("size", ()))
    stride = tuple(s if s is None else int(s) for s in facts.get("stride", ()))
    text = f"{facts.get('dtype', 'torch.float32')}, {size!r}"
    if None not in stride and len(stride) == len(size) and stride != contiguous(size):
        text += f", stride={stride!r}"
    if facts.get("requires_grad"):
        text += ", grad=True"
    if known.range is not None and not str(facts.get("dtype", "")).startswith("torch.float"):
        low, high = known.range
        text += f", low={low!r}, high={high!r}"
    return text


def _plain(text: str) -> bool:
    """Whether a text is data: a literal, or a value of torch by its name."""
    try:
        node = parse(text, mode="eval").body
    except SyntaxError:
        return False
    if isinstance(node, ast.Attribute):
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id == "torch"
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError, MemoryError):
        return isinstance(node, ast.Call) and ast.unparse(node.func) in (
            "torch.device",
            "torch.Size",
            "float",
            "slice",
            "range",
        )
    return True
