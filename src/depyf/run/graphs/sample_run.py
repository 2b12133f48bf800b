"""Made-up inputs: a ``__main__`` block that runs a printed graph on tensors of the shapes and strides it was recorded
with."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from depyf.decompiler.emit.comments import remark
from depyf.run.graphs.graph_source import INNER_CLASS, parsed
from depyf.run.graphs.program_comments import RUNS
from depyf.run.graphs.value_types import SYMBOL, printed_symbol, printed_tensor, same_layout

_SELF = re.compile(r"\bself\.")
_BOXED = re.compile(r'^ *(?P<name>\w+): "(?P<type>[^"]*)" = next\(args_iter\)', re.M)

_ASSERTS = re.compile(r"^(?! *#).*\b_assert_(?:async|scalar)\b|^(?! *#).*\btorch\._assert\(", re.M)
_UNTRUE = "This graph asserts something about the values of its inputs, and made-up ones may not fulfil it:"
_WITH_REASON = """\
    try:
        {call}
    except (RuntimeError, AssertionError) as error:
        raise SystemExit(f"{reason} {{error}}")"""


def sample_run(
    class_name: str,
    text: str,
    true: Mapping[str, int] = MappingProxyType({}),
    known: Mapping[str, str] = MappingProxyType({}),
    symbols: Mapping[str, int] = MappingProxyType({}),
) -> str:
    """A ``__main__`` block that runs the graph ``text`` on made-up inputs of the recorded shapes; "" where that cannot
    work.

    ``true``: how many elements of a mask are true, for those of which any will not do; ``known``: inputs with a given
    value; ``symbols``: their values, 8 where there is none.
    """
    lines = text.splitlines()
    if INNER_CLASS.search(text) or any(
        _SELF.search(line) for line in lines if "self." in line and not line.lstrip().startswith("#")
    ):
        return ""  # a graph within the graph, or a constant of the live module
    start = next((number for number, line in enumerate(lines) if line.lstrip().startswith("def forward(")), len(lines))
    end = next((number for number in range(start, len(lines)) if lines[number].rstrip().endswith(":")), len(lines))
    tree = parsed(textwrap.dedent("\n".join(lines[start : end + 1])) + " pass")
    forward = tree.body[0] if tree is not None and tree.body else None
    if not isinstance(forward, ast.FunctionDef):
        return ""
    names = [argument.arg for argument in forward.args.args[1:]]
    kinds = {
        argument.arg: str(argument.annotation.value)
        for argument in forward.args.args[1:]
        if isinstance(argument.annotation, ast.Constant)
    }
    boxed = names == ["args_list"]
    if boxed:
        kinds = dict(_BOXED.findall(text))
        names = list(kinds)
        if len(names) != text.count(" = next(args_iter)"):
            return ""
    values = []
    for name in names:
        state = name.startswith("rng_state_output")  # AOTAutograd's name for what a recomputed operator draws from
        value = "torch.get_rng_state()" if state else sample_value(kinds.get(name, ""), true.get(name), symbols)
        value = known.get(name, value)
        if value is None:
            return ""
        values.append(remark(f"        {value},", f"{name}: {kinds[name]}"))
    call = f"print({class_name}()({'inputs' if boxed else '*inputs'}))"
    run = _WITH_REASON.format(call=call, reason=_UNTRUE) if _ASSERTS.search(text) else f"    {call}"
    body = "\n".join(["    inputs = [", *values, "    ]", run])
    head = remark(f'{RUNS}"__main__":', "runs the graph on made-up inputs of the recorded shapes")
    return f"{head}\n{body}\n"


def sample_value(kind: str, true: int | None = None, symbols: Mapping[str, int] = MappingProxyType({})) -> str | None:
    """An expression for a value of the printed type ``f32[2, s0][s0, 1]cpu``; a symbol that ``symbols`` lacks counts as
    8.

    ``true``: the number of true elements of a mask; without it all are false.
    """
    symbol = printed_symbol(kind)
    if symbol is not None:
        return _size(symbol, symbols) or repr(symbols.get(symbol, 8))
    tensor = printed_tensor(kind)
    if tensor is None or tensor.wrapper or (sizes := _sizes(tensor.size, symbols)) is None:
        return None
    place = f", device={tensor.device!r}" if tensor.device not in ("", "cpu") else ""
    shape = f"[{', '.join(sizes)}]"
    if true is not None:
        count = " * ".join(size if size.isdigit() else f"({size})" for size in sizes)
        return f"(torch.arange({count}{place}) < {true}).view({shape})"
    strides = _sizes(tensor.stride or (), symbols) or []
    elements = _storage([_number(size) for size in sizes], [_number(stride) for stride in strides])
    made = _made(shape if elements is None else f"[{elements}]", tensor.dtype, place)
    return made if elements is None else f"{made}.as_strided({shape}, [{', '.join(strides)}])"


def _made(shape: str, dtype: str, place: str) -> str:
    if dtype.startswith("float8"):  # nothing draws these
        return f"torch.randn({shape}{place}).to(torch.{dtype})"
    maker = "randn" if dtype.startswith(("float", "bfloat", "complex")) else "zeros"
    return f"torch.{maker}({shape}, dtype=torch.{dtype}{place})"


def _storage(sizes: list[int], strides: list[int]) -> int | None:
    """The number of elements in the storage of a tensor that is not contiguous; None for one that is."""
    if len(sizes) != len(strides) or same_layout(tuple(sizes), tuple(strides)):
        return None
    return 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides))


def _sizes(parts: Sequence[str], symbols: Mapping[str, int]) -> list[str] | None:
    """``2, s0`` with the values of its symbols."""
    found = [_size(part, symbols) for part in parts]
    return None if None in found else [size for size in found if size is not None]


def _size(text: str, symbols: Mapping[str, int]) -> str | None:
    """``(s23//4) + 1`` with the values of its symbols; None where more than arithmetic is left."""
    replaced = SYMBOL.sub(lambda match: str(symbols.get(match[0], 8)), text)
    return replaced if re.fullmatch(r"[\d+*/() -]+", replaced) else None


def _number(size: str) -> int:
    return int(size) if size.isdigit() else int(eval(size, {}))  # digits and arithmetic only: see ``_size``
