"""The values of an edited graph's nodes as torch's compilers want them: tensors without data, in ``node.meta``.

Input: a graph made from an edited file and the one that torch made.  A node that says the same as the old node of its
name, of nodes that do, keeps that one's values; the others are run once on tensors without data, in the fake mode of
the inputs. Output invariant: each node that the old graph would have a value for has one, and what the graph returns
has the number, types and shapes that the next stage expects; else EditError, at a line of the file.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from depyf.actions.edit.edit_error import EditError
from depyf.actions.edit.edited.retrace import Retraced
from depyf.actions.edit.edited_file import EditedFile

KEYS = ("val", "example_value")
"""Where AOTAutograd and Inductor, and where Dynamo, keep a node's value."""


def fill_values(file: EditedFile, made: Retraced, module: Any) -> None:
    """Set the example values of the nodes of ``made``, and compare its outputs with those of torch's ``module``.
    EditError where they do not fit."""
    old = {node.name: node for node in module.graph.nodes}
    key = _key(old.values())
    same: set[Any] = set()
    mode = _fake_mode(old.values(), key)
    with _state_of_torch_kept():
        for node in made.graph.nodes:
            twin = old.get(node.name)
            if node.op == "placeholder":
                same.add(node)
            elif twin is not None and _says_the_same(node, twin, same):
                same.add(node)
                node.meta = dict(twin.meta)
            elif node.op != "output":
                if twin is not None and twin.op == node.op:
                    node.meta = {name: value for name, value in twin.meta.items() if name not in (*KEYS, "tensor_meta")}
                try:
                    node.meta[key] = _value(node, module, key, mode)
                except Exception as error:
                    text = " ".join(str(error).split())
                    reason = f"the operation fails: {type(error).__name__}: {text[:400]}"
                    raise EditError(file.path, made.lines.get(node, made.returns), reason) from None
    _check_results(file, made, old, key)


def _key(nodes: Any) -> str:
    return next((key for node in nodes for key in KEYS if key in node.meta), KEYS[0])


def _says_the_same(node: Any, twin: Any, same: set[Any]) -> bool:
    if (node.op, node.target) != (twin.op, twin.target) or not all(used in same for used in node.all_input_nodes):
        return False
    return str(node.args) == str(twin.args) and str(node.kwargs) == str(twin.kwargs)


def _value(node: Any, module: Any, key: str, mode: Any) -> Any:
    from torch.fx.node import map_arg

    args, kwargs = map_arg((node.args, node.kwargs), lambda used: used.meta.get(key))
    with mode if mode is not None else contextlib.nullcontext():
        if node.op == "get_attr":
            return _faked(_attribute(module, node.target), mode)
        if node.op == "call_function":
            return node.target(*args, **kwargs)
        if node.op == "call_method":
            return getattr(args[0], node.target)(*args[1:], **kwargs)
        return _attribute(module, node.target)(*args, **kwargs)


def _attribute(module: Any, path: str) -> Any:
    for name in path.split("."):
        module = getattr(module, name)
    return module


def _faked(value: Any, mode: Any) -> Any:
    import torch

    return mode.from_tensor(value) if mode is not None and isinstance(value, torch.Tensor) else value


def _fake_mode(nodes: Any, key: str) -> Any:
    """That of the values themselves: the one that torch would find is the one of the next stage."""
    values = [node.meta[key] for node in nodes if key in node.meta]
    return next((mode for value in values if (mode := getattr(value, "fake_mode", None)) is not None), None)


@contextlib.contextmanager
def _state_of_torch_kept() -> Iterator[None]:
    """A graph may switch gradients and autocasting: what runs here leaves them as they are."""
    import torch

    grad, inference = torch.is_grad_enabled(), torch._C._is_any_autocast_enabled()
    generator = torch.get_rng_state()
    try:
        yield
    finally:
        torch.set_grad_enabled(grad)
        torch.set_rng_state(generator)
        if not inference:
            for device in ("cpu", "cuda"):
                torch.set_autocast_enabled(device, False)


def _check_results(file: EditedFile, made: Retraced, old: dict[str, Any], key: str) -> None:
    before = next(node for node in old.values() if node.op == "output")
    after = next(node for node in made.graph.nodes if node.op == "output")
    wanted, given = _results(before), _results(after)
    after.meta = dict(before.meta)
    if len(wanted) != len(given):
        reason = f"the graph returns {_count(len(given))}, and what comes after it expects {_count(len(wanted))}"
        raise EditError(file.path, made.returns, reason)
    for number, (one, other) in enumerate(zip(given, wanted)):
        has, needs = _described(one, key), _described(other, key)
        if has != needs:
            line = _first_other(made, old, key) or made.returns
            raise EditError(
                file.path, line, f"the graph returns {has} as value {number}, and what comes after it expects {needs}"
            )


def _results(output: Any) -> list[Any]:
    value = output.args[0]
    return list(value) if isinstance(value, (tuple, list)) else [value]


def _count(number: int) -> str:
    return "1 value" if number == 1 else f"{number} values"


def _first_other(made: Retraced, old: dict[str, Any], key: str) -> int:
    """The line of the first node that has another shape than the old node of its name; 0 without one."""
    for node in made.graph.nodes:
        twin = old.get(node.name)
        if (
            node.op not in ("placeholder", "output")
            and twin is not None
            and _described(node, key) != _described(twin, key)
        ):
            return made.lines.get(node, 0)
    return 0


def _described(value: Any, key: str) -> str:
    """``float32[4, 8] on cpu`` of what a node has, and what else is returned as it is."""
    import torch

    value = value.meta.get(key) if isinstance(value, torch.fx.Node) else value
    if isinstance(value, torch.Tensor):
        kind = str(value.dtype).removeprefix("torch.")
        return f"{kind}[{', '.join(map(str, value.shape))}] on {value.device}"
    if isinstance(value, (tuple, list)):
        return f"({', '.join(_described(part, key) for part in value)})"
    return "a number" if isinstance(value, (int, float, torch.SymInt, torch.SymFloat)) else str(value)
