"""The table of inputs at the top of a script.

Input: the parameters of a captured graph, what was recorded about them, and the values they may have.  Output: one
line of Python per input.  Raises ``CannotRender`` for an input that a script cannot make (an object of the program).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from depyf.dump.graphs.graph_text import GraphClass, Parameter
from depyf.dump.graphs.value_types import Number, TensorType, evaluate, tensor_type
from depyf.emit.comments import remark
from depyf.gallery.ranges import Choice, choose

_MODULE_PART = re.compile(r"\._(?:modules|parameters|buffers)\['(\w+)'\]")
_LOCAL = re.compile(r"\bL\['(\w+)'\]")


class CannotRender(Exception):
    """This graph cannot become a script; the message says why."""


def input_lines(
    graph: GraphClass, facts: Mapping[str, Any], symbols: Mapping[str, Number], with_grad: frozenset[int]
) -> list[str]:
    """``"ids": make.integers(2, 8, high=64),`` for each input, with a remark: "input_ids: it selects rows of an embedding".

    ``with_grad``: positions of inputs whose gradient the dump has a graph for, used where nothing was recorded.
    """
    recorded = {str(item["name"]): item for item in facts.get("inputs", ())}
    types = {p.name: kind for p in graph.parameters if (kind := tensor_type(p.type, symbols)) is not None}
    choices = choose(graph, types, symbols)
    storages = _storages(list(facts.get("inputs", ())))
    lines = []
    for position, parameter in enumerate(graph.parameters):
        item = recorded.get(parameter.original) or _from_type(
            parameter, types.get(parameter.name), position in with_grad
        )
        value, why = _value(parameter, item, choices, symbols, storages)
        source = readable_source(str(item.get("source", "")))
        role = str(item.get("role", "input"))
        notes = [source if role == "input" else f"{role} {source}".strip(), why]
        why = ": ".join(note for note in notes if note and note != parameter.name)
        lines.append(remark(f'"{parameter.name}": {value},', why))
    return lines


def readable_source(source: str) -> str:
    """``L['self']._modules['fc']._parameters['weight']`` -> ``self.fc.weight``"""
    return _LOCAL.sub(r"\1", _MODULE_PART.sub(r".\1", source))


def _from_type(parameter: Parameter, kind: TensorType | None, grad: bool) -> dict[str, Any]:
    """What the printed type says, for a dump without records."""
    if kind is None:
        return {"kind": "int", "symbol": parameter.type[4:-1]} if parameter.type.startswith("Sym(") else {"kind": "?"}
    if None in kind.shape or kind.stride is not None and None in kind.stride:
        return {"kind": "a tensor of unknown size"}
    device = re.search(r"\](\w+(?::\d+)?)$", parameter.type)
    role = "parameter" if "_parameters_" in parameter.original else "buffer" if "_buffers_" in parameter.original else "input"  # fmt: skip
    sizes = [str(size) for size in kind.shape]
    strides = list(kind.stride if kind.stride is not None else contiguous(tuple(int(s or 0) for s in kind.shape)))
    return {
        "kind": "tensor", "role": role,
        "tensor": {
            "dtype": f"torch.{kind.dtype}", "size": sizes, "shape": list(kind.shape), "strides": strides,
            "stride": [str(step) for step in strides], "device": device[1] if device else "cpu",
            "requires_grad": grad and kind.floating,
        },
    }  # fmt: skip


def _value(
    parameter: Parameter,
    item: Mapping[str, Any],
    choices: Mapping[str, Choice],
    symbols: Mapping[str, Number],
    storages: Mapping[int, int],
) -> tuple[str, str]:
    """The expression, and why it is what it is."""
    what = str(item.get("kind", ""))
    if what in ("int", "float", "bool"):
        symbol = str(item.get("symbol", ""))
        if symbol and evaluate(symbol, symbols) is not None:
            return symbol, ""
        if item.get("value") is None:
            raise CannotRender(f"the value of its input {parameter.name} ({parameter.type or what}) is not known")
        return repr(item["value"]), ""
    if what == "NoneType":
        return "None", ""
    tensor = item.get("tensor")
    if what != "tensor" or tensor is None:
        raise CannotRender(f"its input {parameter.name} is an object of the program ({what})")
    if tensor.get("subclass"):
        raise CannotRender(f"its input {parameter.name} is a {tensor['subclass']}, not a plain tensor")
    if tensor.get("layout", "torch.strided") != "torch.strided":
        raise CannotRender(f"its input {parameter.name} has the layout {tensor['layout']}")
    dtype = str(tensor["dtype"]).removeprefix("torch.")
    if dtype.startswith(("q", "bits")):
        raise CannotRender(f"its input {parameter.name} is quantised ({dtype})")
    if item.get("value") is not None:
        return f"torch.tensor({_literal(item['value'])}, dtype=torch.{dtype})", "a number of the program"
    choice = choices.get(parameter.name, Choice(None))
    number = int((item.get("storage") or (-1,))[0])
    shared = (number, storages[number]) if number in storages else None
    return _tensor(tensor, dtype, str(item.get("role", "input")), choice, symbols, shared), choice.why


def _literal(value: Any) -> str:
    """``nan`` and infinities, which JSON keeps, are no names of Python."""
    return repr(value) if not isinstance(value, float) or math.isfinite(value) else f'float("{value}")'


def _storages(inputs: list[Mapping[str, Any]]) -> dict[int, int]:
    """The storages that several inputs are views of -> their length in elements.

    Only of inputs of one dtype without gradients: a graph that writes to one of these writes to the others.
    """
    members: dict[int, list[Mapping[str, Any]]] = {}
    for item in inputs:
        if item.get("storage") and item.get("tensor"):
            members.setdefault(int(item["storage"][0]), []).append({**item["tensor"], "bytes": item["storage"][1]})
    found = {}
    for number, tensors in members.items():
        if len({t["dtype"] for t in tensors}) == 1 and not any(t.get("requires_grad") for t in tensors):
            whole = tensors[0]["bytes"] // _itemsize(tensors[0]["dtype"])
            found[number] = max(whole, *(_end(tensor) for tensor in tensors))
    return found


def _itemsize(dtype: str) -> int:
    """``torch.float8_e4m3fn`` -> 1"""
    bits = re.match(r"[a-z]+(\d+)", dtype.removeprefix("torch."))
    return max(1, int(bits[1]) // 8) if bits else 1


def _end(tensor: Mapping[str, Any]) -> int:
    """How far into its storage a tensor reaches."""
    reach = sum((int(n) - 1) * int(step) for n, step in zip(tensor["shape"], tensor["strides"]))
    return int(tensor.get("offset", 0)) + (1 + reach if all(tensor["shape"]) else 0)


def _tensor(
    tensor: Mapping[str, Any],
    dtype: str,
    role: str,
    choice: Choice,
    symbols: Mapping[str, Number],
    shared: tuple[int, int] | None,
) -> str:
    shape = tuple(int(size) for size in tensor["shape"])
    arguments = [_number(text, size, symbols) for text, size in zip(tensor["size"], shape)]
    strides = tuple(int(step) for step in tensor["strides"])
    plain = shared is None and same_layout(shape, strides)  # made element by element, none beside them
    maker, usual = "normal", "float32"
    if dtype == "bool":
        maker, usual = "booleans", "bool"
        if choice.true is not None and plain:
            arguments.append(f"true={choice.true}")
        elif choice.most is not None:
            arguments.append(f"most={choice.most}")
    elif dtype.startswith(("int", "uint")):
        maker, usual = "integers", "int64"
        span = choice.span
        low, high = (int(span.low), int(span.high) + 1) if span is not None else (0, 2)
        if choice.total is not None and plain:
            arguments.append(f"total={choice.total}")
        else:
            arguments += [f"low={low}"] if low else []
            arguments.append(f"high={high}")
    elif choice.span is not None:
        maker = "uniform"
        arguments += [f"low={choice.span.low:g}", f"high={choice.span.high:g}"]
    elif role != "input" and len(shape) < 2 and not dtype.startswith("complex"):
        maker = "uniform"  # scales, shifts and running variances: near one
        arguments += ["low=0.5", "high=1.5"]
    elif role != "input":
        arguments.append(f"scale={1 / math.sqrt(max(1, math.prod(shape[1:]))):.2g}")
    if dtype != usual:
        arguments.append(f"dtype=torch.{dtype}")
    if not same_layout(shape, strides):
        steps = [_number(text, step, symbols) for text, step in zip(tensor["stride"], strides)]
        arguments.append(f"stride=({', '.join(steps)}{',' if len(steps) == 1 else ''})")
    if tensor.get("offset"):
        arguments.append(f"offset={tensor['offset']}")
    if tensor.get("device", "cpu") != "cpu":
        arguments.append(f'device="{tensor["device"]}"')
    if tensor.get("requires_grad"):
        arguments.append("grad=True")
    if shared is not None:
        arguments.append(f"shared={shared}")
    return f"make.{maker}({', '.join(arguments)})"


def _number(text: str, number: int, symbols: Mapping[str, Number]) -> str:
    """The symbolic text where it stands for the number, else the number."""
    return text if evaluate(text, symbols) == number else str(number)


def contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a contiguous tensor."""
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))


def same_layout(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Do the strides mean what contiguous ones do?  A dimension of size one may have any."""
    if 0 in shape:
        return True
    return all(one == two or size == 1 for size, one, two in zip(shape, strides, contiguous(shape)))
