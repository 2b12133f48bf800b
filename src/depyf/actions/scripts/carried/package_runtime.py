"""What the package needs to run: errors, cells, and tensors that were recorded.  It needs torch only."""

from __future__ import annotations

import ast
import contextlib
import importlib
import inspect
import json
import textwrap
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from depyf.actions.scripts.carried.making import Make
from depyf.actions.scripts.carried.stored_tensors import stored_bytes, stored_header

FOLDER = Path(__file__).parent


@dataclass
class Call:
    """A call of the function: the entry that is to run, the arguments, and what the call fills into ``hooks``."""

    entry: str
    arguments: list[Any]
    keywords: dict[str, Any]
    inputs: Any
    hooks: dict[str, Any] = field(default_factory=dict)
    grad: bool = True
    autocast: dict[str, torch.dtype] = field(default_factory=dict)

    def run(self, function: Callable[..., Any]) -> Any:
        """The call, in the state of torch that the program had."""
        self.inputs.seed()
        with contextlib.ExitStack() as stack:
            stack.enter_context(torch.set_grad_enabled(self.grad))
            for device, dtype in self.autocast.items():
                stack.enter_context(torch.autocast(device, dtype))
            return function(*self.arguments, **self.keywords)


class MissingHook(AttributeError):
    """Something that could not leave the process that compiled, and that nobody filled in."""


class Shell:
    """What stands in the place of an object of the program: it has what the guards look at, and nothing else."""

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)  # type: ignore[misc]
        except AttributeError:
            kind = type(self).__qualname__
            raise MissingHook(
                f"the compiled code reads {name!r} of a {kind}, which the program has; give it the program's own {kind}, "
                f"or set {name!r} on this one"
            ) from None


class NoEntry(RuntimeError):
    """No compiled entry was made for arguments like these."""


def no_entry(function: str, L: dict[str, Any], *guards: Callable[..., bool]) -> NoEntry:
    """The error that says which guard of each entry does not hold."""
    lines = [f"{function}() was compiled for other arguments; the first guard that fails, for each entry:"]
    lines += [f"  {check.__name__.removeprefix('guards_')}: {failing(check, L)}" for check in guards]
    return NoEntry("\n".join(lines))


def failing(check: Callable[..., bool], L: dict[str, Any]) -> str:
    """The first operand of the guards that is false for these variables, or cannot be evaluated."""
    check = inspect.unwrap(check)
    tree = ast.parse(textwrap.dedent(inspect.getsource(check)))
    value = next(node.value for node in ast.walk(tree) if isinstance(node, ast.Return) and node.value)
    for operand in value.values if isinstance(value, ast.BoolOp) else [value]:
        code = compile(ast.Expression(operand), "<guard>", "eval")
        try:
            holds = eval(code, check.__globals__, {"L": L})
        except MissingHook:
            raise
        except Exception as error:
            return f"{ast.unparse(operand)}: {type(error).__name__}: {error}"
        if not holds:
            return ast.unparse(operand)
    return "all of them hold now"


def call_size(tensor: Any, dimension: int) -> Any:
    return tensor.size(dimension)


def call_stride(tensor: Any, dimension: int) -> Any:
    return tensor.stride(dimension)


def call_storage_offset(tensor: Any) -> Any:
    return tensor.storage_offset()


def object_setattr_ignore_descriptor(obj: Any, name: str, value: Any) -> None:
    """Set an attribute past ``__setattr__`` and properties of the class."""
    obj.__dict__[name] = value


def cell(reader: Callable[[], Any]) -> Any:
    """The cell of the one variable that ``reader`` returns."""
    (found,) = reader.__closure__ or ()
    return found


def over(make: Callable[..., Any], cells: tuple[Any, ...]) -> Any:
    """The function that ``make`` makes, over these cells instead of new ones."""
    names = make.__code__.co_varnames[: make.__code__.co_argcount]
    made = make(*[None] * len(cells))
    own = dict(zip(names, cells))
    closure = tuple(own[name] for name in made.__code__.co_freevars)
    function = types.FunctionType(made.__code__, made.__globals__, made.__name__, made.__defaults__, closure)
    function.__kwdefaults__ = made.__kwdefaults__
    return function


def contents(names: tuple[str, ...], cells: tuple[Any, ...]) -> dict[str, Any]:
    """Name -> what its cell holds; an empty cell has no name."""
    found = {}
    for name, cell in zip(names, cells):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            pass
    return found


_SHARED: dict[str, Any] = {}


def variables(hooks: Any, names: tuple[str, ...]) -> tuple[Any, ...]:
    """The cells of the free variables; they begin with what ``hooks`` has, and calls share them."""
    for name in names:
        if name not in _SHARED:
            known = name in hooks.WANTED or hasattr(hooks, name)  # otherwise nothing that was compiled reads it
            _SHARED[name] = types.CellType(getattr(hooks, name)) if known else types.CellType()
    return tuple(_SHARED[name] for name in names)


def begin_again() -> None:
    """Forget the free variables that earlier calls changed."""
    _SHARED.clear()


CLASSES: dict[str, Any] = {}
"""Classes of the program by name, while its own code runs; otherwise shells stand in their place."""


def class_at(name: str) -> Any:
    """The class of torch that has this qualified name; None for one of the program."""
    if not name.startswith("torch."):
        return None
    module, _, rest = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), rest)
    except (ImportError, AttributeError):
        return None


def like(name: str, base: type = object, /, **members: Any) -> type:
    """A class of this name that has nothing but ``members``."""
    module, _, rest = name.rpartition(".")
    bases = (Shell,) if base is object else (Shell, base)
    return type(rest, bases, {"__module__": module, "__qualname__": rest, **members})


def partly(cls: Any) -> Any:
    """A class of the program for objects of which only a part is known: the attributes that nothing compiled depends on
    are None."""
    if not cls:
        return None
    assigned = set()
    for base in cls.__mro__:
        code = getattr(vars(base).get("__init__"), "__code__", None)
        assigned |= set(code.co_names) if code is not None else set()

    def get(self: Any, name: str) -> Any:
        try:
            return super(made, self).__getattr__(name)
        except AttributeError:
            if name in assigned and not name.startswith("__"):
                return None
            raise

    made: Any = type(
        cls.__name__, (cls,), {"__getattr__": get, "__module__": cls.__module__, "__qualname__": cls.__qualname__}
    )
    return made


def thing(name: str, /, **attributes: Any) -> Any:
    """An object in the place of one of the program's, with what the guards look at."""
    cls: Any = partly(CLASSES.get(name)) or like(name)
    made = cls.__new__(cls)
    made.__dict__.update(attributes)
    return made


def module(
    kinds: dict[str, str],
    values: dict[str, Any],
    tensors: dict[str, Any],
    forward: dict[str, Callable[..., Any]] | None = None,
) -> Any:
    """A tree of modules: path -> class, attribute -> value, parameter or buffer -> tensor.

    ``forward``: methods of the outermost class.
    """
    made: dict[str, Any] = {}
    for path, kind in sorted(kinds.items()):
        known = partly(CLASSES.get(kind) or (CLASSES and class_at(kind))) or (
            None if path == "" and forward else class_at(kind)
        )
        cls: Any = known or like(kind, torch.nn.Module, **({} if path else forward or {}))
        made[path] = cls.__new__(cls)
        torch.nn.Module.__init__(made[path])
    for path in kinds:
        parent, _, name = path.rpartition(".")
        if path:
            made[parent]._modules[name] = made[path]
    for path, tensor in tensors.items():
        owner, _, name = path.rpartition(".")
        kind = "_parameters" if tensor is None or isinstance(tensor, torch.nn.Parameter) else "_buffers"
        getattr(made[owner], kind)[name] = tensor
    for path, value in values.items():
        owner, _, name = path.rpartition(".")
        made[owner].__dict__[name] = value
    return made[""]


def read_recorded(name: str) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """What was recorded for a graph: the description of its inputs, and the memory they lie in, as bytes."""
    path = FOLDER / "recorded" / f"{name}.safetensors"
    if not path.exists():
        return {"inputs": [], "constants": [], "rng": {}}, {}
    with path.open("rb") as file:
        header = stored_header(file)
    known = json.loads(header.pop("__metadata__")["depyf.inputs"])
    return known, {key: stored_bytes(key, path=path) for key in header}


class Inputs:
    """The tensors of one call: those that were recorded, and others of the same layout where nothing was."""

    def __init__(self, *graphs: str) -> None:
        self.items: dict[str, tuple[dict[str, Any], dict[str, torch.Tensor]]] = {}
        self.made_up: list[str] = []
        self.memory: dict[tuple[int, str], torch.Tensor] = {}
        self.random: list[tuple[str, torch.Tensor]] = []
        self.make = Make(0)
        for graph in graphs:
            known, memory = read_recorded(graph)
            for item in known["inputs"]:
                if item.get("tensor") and item.get("source"):
                    self.items.setdefault(item["source"], (item, memory))
            self.random = self.random or [(device, memory[entry]) for device, entry in known.get("rng", {}).items()]

    def __call__(
        self,
        path: str,
        dtype: torch.dtype,
        size: tuple[int, ...],
        *,
        stride: tuple[int, ...] | None = None,
        grad: bool = False,
        device: str = "cpu",
        low: float = -1.0,
        high: float = 1.0,
        parameter: bool = False,
    ) -> torch.Tensor:
        found = self.items.get(path)
        tensor = recorded_tensor(*found, self.memory) if found is not None else None
        if tensor is None:
            self.made_up.append(path)
            if dtype.is_floating_point or dtype.is_complex:
                tensor = self.make.uniform(*size, low=low, high=high, dtype=dtype, stride=stride)
            else:
                tensor = self.make.integers(*size, low=int(low), high=int(high) + 1, dtype=dtype, stride=stride)
        tensor = tensor.to(device)
        if parameter:
            return torch.nn.Parameter(tensor, requires_grad=grad)
        return tensor.requires_grad_(grad)

    def seed(self) -> None:
        """The random numbers that the program had, or always the same ones."""
        torch.manual_seed(0)
        for device, state in self.random:
            if device == "cpu":
                torch.set_rng_state(state)
            elif device.startswith("cuda"):
                torch.cuda.set_rng_state(state, device)


def recorded_tensor(
    item: dict[str, Any], memory: dict[str, torch.Tensor], shared: dict[tuple[int, str], torch.Tensor]
) -> torch.Tensor:
    """One recorded tensor; those that lay in one memory do so again.  ``shared``: the memory that was made already."""
    dtype = getattr(torch, item["dtype"].removeprefix("torch."))
    key = id(memory), item["tensor"]
    if key not in shared:
        shared[key] = memory[item["tensor"]].clone()
    data = shared[key]
    whole = data.view(dtype) if data.numel() else torch.empty(0, dtype=dtype)
    return whole.as_strided(item.get("shape", ()), item.get("stride", ()), item.get("offset", 0)).detach()


def recorded_constant(name: str, attribute: str) -> torch.Tensor:
    """A constant of a graph."""
    known, memory = read_recorded(name)
    return next(recorded_tensor(item, memory, {}) for item in known["constants"] if item["name"] == attribute)
