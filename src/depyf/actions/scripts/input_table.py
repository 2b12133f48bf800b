"""The table of inputs at the top of a script.

Input: the parameters of a captured graph, what was recorded about them, and the values they may have.  Output: one
line of Python per input.  Raises ``CannotRender`` for an input that a script cannot make (an object of the program).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from depyf.actions.scripts.tensor_text import TensorTexts, number_text, tensor_texts
from depyf.decompiler.emit.comments import remark
from depyf.run.advice.source_names import without_mapping, without_registries
from depyf.run.graphs.graph_facts import GraphFacts, InputFacts, TensorFacts
from depyf.run.graphs.graph_text import GraphClass, Parameter
from depyf.run.graphs.masks import exactly_true, most_true, totals
from depyf.run.graphs.value_types import (
    Number,
    TensorType,
    contiguous,
    evaluate,
    printed_symbol,
    printed_tensor,
    same_layout,
    tensor_type,
)
from depyf.run.recorded.recorded_inputs import Recorded, RecordedInput
from depyf.run.recorded.tensor_file import TensorEntry

_EXACT = 2**53
"""Recorded numbers are read as double precision, in which larger integers are rounded."""


class CannotRender(Exception):
    """This graph cannot become a script; the message says why."""


@dataclass(frozen=True, slots=True)
class Count:
    """How many elements of a mask are true (or at most), or what the elements of an integer input add up to."""

    argument: str
    number: int
    why: str


@dataclass(frozen=True, slots=True)
class InputTexts:
    """The table, the lines in front of it, the entries of a file beside the script, and the inputs that are made up."""

    lines: list[str]
    shared: list[str]
    beside: Mapping[str, TensorEntry]
    made_up: list[str]


def input_texts(
    graph: GraphClass,
    facts: GraphFacts,
    symbols: Mapping[str, Number],
    with_grad: frozenset[int] = frozenset(),
    recorded: Recorded | None = None,
) -> InputTexts:
    """The inputs of a script as they were recorded; what was not is made up, as ``input_lines`` does."""
    items = {item.name: item for item in recorded.inputs} if recorded is not None else {}
    kept = [items[p.original] for p in graph.parameters if p.original in items]
    texts = tensor_texts(recorded, kept) if recorded is not None else TensorTexts()
    made_up = [p.name for p in graph.parameters if p.original not in texts.made]
    made = input_lines(graph, facts, symbols, with_grad) if made_up else []
    lines = []
    for position, parameter in enumerate(graph.parameters):
        item = items.get(parameter.original)
        if item is not None and parameter.original in texts.made:
            told = _told(item)
            line = remark(
                f'"{parameter.name}": {texts.made[parameter.original]},', "" if told == parameter.name else told
            )
        else:
            line = remark(made[position], f"made up: {item.left_out}" if item is not None else "")
        lines += line.split("\n")
    return InputTexts(lines, texts.shared, texts.beside, made_up)


def _told(item: InputFacts | RecordedInput) -> str:
    """Where the program keeps an input."""
    source = readable_source(item.source)
    return source if item.role == "input" else f"{item.role} {source}".strip()


def input_lines(
    graph: GraphClass, facts: GraphFacts, symbols: Mapping[str, Number], with_grad: frozenset[int]
) -> list[str]:
    """``"ids": make.integers(2, 8, high=64),`` for each input, with a remark: "input_ids: it selects rows of an
    embedding".

    ``with_grad``: positions of inputs whose gradient the dump has a graph for, used where nothing was recorded.
    """
    recorded = {item.name: item for item in facts.inputs}
    types = {p.name: kind for p in graph.parameters if (kind := tensor_type(p.type, symbols)) is not None}
    counts = _counts(graph, types, symbols)
    storages = _storages(facts.inputs)
    lines = []
    for position, parameter in enumerate(graph.parameters):
        item = recorded.get(parameter.original) or _from_type(
            parameter, types.get(parameter.name), position in with_grad
        )
        value, why = _value(parameter, item, counts.get(parameter.name), symbols, storages)
        notes = [_told(item), why]
        why = ": ".join(note for note in notes if note and note != parameter.name)
        lines.append(remark(f'"{parameter.name}": {value},', why))
    return lines


def readable_source(source: str) -> str:
    """``L['self']._modules['fc']._parameters['weight']`` -> ``self.fc.weight``"""
    return without_mapping(without_registries(source))


def _from_type(parameter: Parameter, kind: TensorType | None, grad: bool) -> InputFacts:
    """What the printed type says, for a dump without records."""
    if kind is None:
        symbol = printed_symbol(parameter.type)
        return InputFacts("", "int", symbol=symbol) if symbol is not None else InputFacts("", "?")
    if None in kind.shape or kind.stride is not None and None in kind.stride:
        return InputFacts("", "a tensor of unknown size")
    printed = printed_tensor(parameter.type)
    role = (
        "parameter" if "_parameters_" in parameter.original
        else "buffer" if "_buffers_" in parameter.original
        else "input"
    )  # fmt: skip
    shape = tuple(int(size or 0) for size in kind.shape)
    strides = contiguous(shape) if kind.stride is None else tuple(int(step or 0) for step in kind.stride)
    tensor = TensorFacts(
        f"torch.{kind.dtype}", tuple(map(str, shape)), tuple(map(str, strides)), shape, strides,
        device=(printed.device if printed is not None else "") or "cpu", requires_grad=grad and kind.floating,
    )  # fmt: skip
    return InputFacts("", "tensor", role=role, tensor=tensor)


def _value(
    parameter: Parameter,
    item: InputFacts,
    count: Count | None,
    symbols: Mapping[str, Number],
    storages: Mapping[int, int],
) -> tuple[str, str]:
    """The expression, and why it is what it is."""
    what = item.kind
    if what in ("int", "float", "bool"):
        if item.symbol and evaluate(item.symbol, symbols) is not None:
            return item.symbol, ""
        if item.value is None:
            raise CannotRender(f"the value of its input {parameter.name} ({parameter.type or what}) is not known")
        return repr(item.value), ""
    if what == "NoneType":
        return "None", ""
    tensor = item.tensor
    if what != "tensor" or tensor is None:
        raise CannotRender(f"its input {parameter.name} is an object of the program ({what})")
    if tensor.subclass:
        raise CannotRender(f"its input {parameter.name} is a {tensor.subclass}, not a plain tensor")
    if tensor.layout != "torch.strided":
        raise CannotRender(f"its input {parameter.name} has the layout {tensor.layout}")
    dtype = tensor.dtype.removeprefix("torch.")
    if dtype.startswith(("q", "bits")):
        raise CannotRender(f"its input {parameter.name} is quantised ({dtype})")
    if item.value is not None:
        return f"torch.tensor({number_text(item.value)}, dtype=torch.{dtype})", "a number of the program"
    number = item.storage[0] if item.storage is not None else -1
    shared = (number, storages[number]) if number in storages else None
    return _tensor(item, tensor, dtype, count, symbols, shared), count.why if count is not None else ""


def _counts(graph: GraphClass, types: Mapping[str, TensorType], symbols: Mapping[str, Number]) -> dict[str, Count]:
    """The inputs whose elements have to go with the size of something else."""
    found: dict[str, Count] = {}
    for argument, read in (("most", most_true), ("true", exactly_true), ("total", totals)):
        found |= {name: Count(argument, number, why) for name, (number, why) in read(graph, types, symbols).items()}
    return found


def _storages(inputs: Iterable[InputFacts]) -> dict[int, int]:
    """The storages that several inputs are views of -> their length in elements.

    Only of inputs of one dtype without gradients: a graph that writes to one of these writes to the others.
    """
    members: dict[int, list[TensorFacts]] = {}
    lengths: dict[int, int] = {}
    for item in inputs:
        if item.storage is not None and item.tensor is not None:
            number, length = item.storage
            members.setdefault(number, []).append(item.tensor)
            lengths.setdefault(number, length)
    found = {}
    for number, tensors in members.items():
        if len({t.dtype for t in tensors}) == 1 and not any(t.requires_grad for t in tensors):
            whole = lengths[number] // _itemsize(tensors[0].dtype)
            found[number] = max(whole, *(_end(tensor) for tensor in tensors))
    return found


def _itemsize(dtype: str) -> int:
    """``torch.float8_e4m3fn`` -> 1"""
    bits = re.match(r"[a-z]+(\d+)", dtype.removeprefix("torch."))
    return max(1, int(bits[1]) // 8) if bits else 1


def _end(tensor: TensorFacts) -> int:
    """How far into its storage a tensor reaches."""
    reach = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.strides))
    return tensor.offset + (1 + reach if all(tensor.shape) else 0)


def _tensor(
    item: InputFacts,
    tensor: TensorFacts,
    dtype: str,
    count: Count | None,
    symbols: Mapping[str, Number],
    shared: tuple[int, int] | None,
) -> str:
    shape, strides = tensor.shape, tensor.strides
    arguments = [_number(text, size, symbols) for text, size in zip(tensor.size, shape)]
    plain = shared is None and same_layout(shape, strides)  # made element by element, none beside them
    counted = [f"{count.argument}={count.number}"] if count is not None and (plain or count.argument == "most") else []
    if dtype == "bool":
        maker, usual, values = "booleans", "bool", counted
    elif dtype.startswith(("int", "uint")):
        maker, usual, values = "integers", "int64", _whole_numbers(item)
        if counted:  # a mask of zeros has no more true elements than any other
            values = counted if counted[0].startswith("total") else ["high=1"]
    else:
        usual = "float32"
        maker, values = _real_numbers(item, dtype, shape)
    arguments += values
    if dtype != usual:
        arguments.append(f"dtype=torch.{dtype}")
    if not same_layout(shape, strides):
        steps = [_number(text, step, symbols) for text, step in zip(tensor.stride, strides)]
        arguments.append(f"stride=({', '.join(steps)}{',' if len(steps) == 1 else ''})")
    if tensor.offset:
        arguments.append(f"offset={tensor.offset}")
    if tensor.device != "cpu":
        arguments.append(f'device="{tensor.device}"')
    if tensor.requires_grad:
        arguments.append("grad=True")
    if shared is not None:
        arguments.append(f"shared={shared}")
    return f"make.{maker}({', '.join(arguments)})"


def _whole_numbers(item: InputFacts) -> list[str]:
    """Between the smallest and the largest of those that were recorded; else 0 and 1, which are inside almost
    anything."""
    low, high = map(int, item.passed or (0, 1))
    if max(-low, high) >= _EXACT:
        low, high = 0, 1
    return [*([f"low={low}"] if low else []), f"high={high + 1}"]


def _real_numbers(item: InputFacts, dtype: str, shape: tuple[int, ...]) -> tuple[str, list[str]]:
    """The maker and its arguments.  Recorded numbers of one sign, or from -1 to 1, may be all that is allowed."""
    role = item.role
    low, high = item.passed or (0.0, 0.0)
    if item.passed and (low < high or role == "input"):
        if low == high:  # other numbers of that sign, which show more; zeros are no negative numbers
            low, high = sorted((low / 2, low * 3 / 2)) if low else (0.0, 1.0)
        if low >= 0 or high <= 0 or (role == "input" and low >= -1 and high <= 1):
            few = _short(low, 1), _short(high, -1)
            low, high = few if low <= few[0] < few[1] <= high else (low, high)
            return "uniform", [f"low={_exactly(low)}", f"high={_exactly(high)}"]
    if role == "input" or dtype.startswith("complex"):
        return "normal", []
    if len(shape) < 2:
        return "uniform", ["low=0.5", "high=1.5"]  # scales, shifts and running variances: near one
    return "normal", [f"scale={1 / math.sqrt(max(1, math.prod(shape[1:]))):.2g}"]


def _exactly(number: float) -> str:
    """``1`` for 1.0."""
    return short if float(short := f"{number:g}") == number else repr(number)


def _short(number: float, inwards: int) -> float:
    """Three digits of ``number``, rounded up (1) or down (-1)."""
    if not number:
        return 0.0
    step = 10.0 ** (math.floor(math.log10(abs(number))) - 2)
    return float(f"{inwards * math.ceil(inwards * number / step) * step:.3g}")


def _number(text: str, number: int, symbols: Mapping[str, Number]) -> str:
    """The symbolic text if its value is the number, else the number."""
    return text if evaluate(text, symbols) == number else str(number)
