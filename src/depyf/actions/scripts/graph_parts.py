"""What every script of a captured graph has: imports, sizes, inputs, classes, the modes around it, what it carries.

Input: the graph, what is known of it, its inputs as text.  Output: values for the holes of ``graph_script.py``, and its
text.  Raises ``CannotRender`` where what torch printed is no Python.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from depyf.actions.scripts.carried_text import carried_for, import_order, is_standard
from depyf.actions.scripts.dumped_graphs import CompiledGraph
from depyf.actions.scripts.fill import Value, fill
from depyf.actions.scripts.input_table import CannotRender, InputTexts, readable_source
from depyf.actions.scripts.process_groups import groups_of
from depyf.decompiler.emit.comments import comment, in_docstring, remark, split_remark
from depyf.run.graphs.graph_facts import GraphFacts, ModeFacts
from depyf.run.graphs.graph_source import operators_in
from depyf.run.graphs.graph_text import short_path
from depyf.run.graphs.value_types import Number
from depyf.safety.escape import printable

RANDOM = re.compile(
    r"dropout|bernoulli|\brand|\.rand|normal|uniform|inductor_rand|multinomial|exponential|cauchy|geometric|poisson"
)
REGISTERS = re.compile(r"^import torch\.[\w.]+$", re.M)
"""Modules of torch that a page imports because they register operators."""
_TORCH_LIBRARIES = frozenset(
    "aten prim prims higher_order quantized inductor mkldnn mkl onednn rngprims debugprims _c10d_functional "
    "fsdp streams _c10d_functional_autograd c10d_functional c10d symm_mem _inductor_test _quantized "
    "quantized_decomposed sparse xpu mha profiler static_runtime xnnpack triton".split()
)
_LOW_PRECISION = (("bf16[", "torch.bfloat16", 5e-2), ("f16[", "torch.float16", 1e-2), ("f8e", "float8", 2e-1))


def common_values(
    facts: GraphFacts, symbols: Mapping[str, Number], inputs: InputTexts, classes: list[str]
) -> dict[str, Value]:
    """The values that do not depend on what the script is for."""
    return {
        "SYMBOLS": _symbol_lines(inputs.lines, symbols, facts),
        "MAKES": any("make." in line for line in inputs.lines),
        "RECORDED": len(inputs.made_up) < len(inputs.lines),
        "MEMORY": inputs.shared,
        "INPUTS": inputs.lines,
        "CLASSES": "\n\n\n".join(classes).split("\n"),
        "TOLERANCE": str(tolerance_of("\n".join(classes))),
        "GROUPS": str(groups) if (groups := groups_of("\n".join(classes))) else "",
        **_ambient(facts.modes),
    }


def script_text(imports: Iterable[str], values: Mapping[str, Value]) -> str:
    """The text of the script.  ``imports``: import lines besides those that its own definitions need.  CannotRender
    where the result is no Python."""
    empty: dict[str, Value] = {"STANDARD_LIBRARY": [], "LIBRARIES": [], "HARNESS": []}
    try:
        carried, needed = carried_for(fill("graph_script", {**empty, **values}))
    except SyntaxError as error:
        raise CannotRender(f"torch printed what is no Python (line {error.lineno} of the script)") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise CannotRender("torch printed what is no Python") from error
    lines = sorted({*imports, *needed}, key=import_order)
    return fill(
        "graph_script",
        {
            **values,
            "STANDARD_LIBRARY": [line for line in lines if is_standard(line)],
            "LIBRARIES": [line for line in lines if not is_standard(line)],
            "HARNESS": carried.split("\n"),
        },
    )


def subject_of(graph: CompiledGraph, root: str) -> str:
    """``f (file.py:7), compile id 0/0``, for a docstring."""
    what = f"{graph.function} ({short_place(graph.place, root)})" if graph.function else "an unknown function"
    return in_docstring(printable(f"{what}, compile id {graph.compile_id}"))


def short_place(place: str, root: str) -> str:
    path, _, line = place.rpartition(":")
    return f"{short_path(path, root)}:{line}" if path else place


def code_lines(text: str) -> str:
    """``text`` without its comment lines, which quote the program."""
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))


def own_operators(code: str) -> list[str]:
    """The operators in ``code`` that torch does not define, as ``library.name``."""
    return sorted({f"{library}.{name}" for library, name in operators_in(code) if library not in _TORCH_LIBRARIES})


def tolerance_of(texts: str) -> float:
    """The allowed difference between results of this graph, as a fraction of a tensor's largest value."""
    return next((value for mark, name, value in _LOW_PRECISION if f'"{mark}' in texts or name in texts), 1e-4)


def _symbol_lines(inputs: list[str], symbols: Mapping[str, Number], facts: GraphFacts) -> list[str]:
    """The dynamic sizes that inputs have, with their values and where they come from."""
    sources = {item.symbol: item.source for item in facts.inputs if item.symbol}
    words = set(re.findall(r"\w+", "\n".join(split_remark(line)[0] for line in inputs)))
    used = sorted((name for name in symbols if name in words), key=lambda name: (name[0], len(name), name))
    lines = [remark(f"{name} = {symbols[name]}", readable_source(sources.get(name, ""))) for name in used]
    return [comment("Dynamic sizes, with the values they had; others may be tried."), *lines] if lines else []


def _ambient(modes: ModeFacts | None) -> dict[str, Value]:
    """The context managers for the state of torch in which the program called the graph."""
    managers = []
    if modes is not None:
        managers += ["torch.inference_mode()"] if modes.inference else [] if modes.grad else ["torch.no_grad()"]
        managers += [f'torch.autocast("{device}", {dtype})' for device, dtype in modes.autocast.items()]
    if len(managers) < 2:
        return {"ENTERED": [], "MODE": managers[0] if managers else "contextlib.nullcontext()"}
    return {"ENTERED": [f"stack.enter_context({manager})" for manager in managers], "MODE": ""}
