"""An edited graph file -> a graph of torch.fx, by running its ``forward`` on symbols.

Input: the text of a file and the graph that torch made.  Output: a graph with the same inputs, a node for each
operation of the text, named after the variable that it is assigned to as torch names them, and the line of each.

    h = torch.relu(linear)          h = name(call(torch.relu, linear), "h")
    x += y                          x = name(inplace("iadd", x, y), "x")
    x[0] = y                        store(x, 0, y)

All other Python in the text runs while it is traced: loops, conditions on numbers, functions that it defines.  What
depends on the value of a tensor cannot be traced.
"""

from __future__ import annotations

import ast
import operator
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from depyf.actions.edit.edit_error import EditError
from depyf.actions.edit.edited_file import EditedFile, python

_NAME, _CALL, _INPLACE, _STORE = "__depyf_name", "__depyf_call", "__depyf_inplace", "__depyf_store"
_BOXED = "args_list"
"""The one parameter of a graph in AOTAutograd's calling convention: a list of the inputs, which the graph empties."""


@dataclass
class Retraced:
    """A graph made from an edited file."""

    graph: Any
    lines: dict[Any, int] = field(default_factory=dict)
    """Node -> line of the file; inputs are on the line of the ``def``."""
    returns: int = 1
    """The line of the ``return``."""


def retraced(file: EditedFile, module: Any, path: tuple[str, ...] = ()) -> Retraced:
    """The graph of ``file`` for ``module``, the GraphModule that torch made; ``path``: of a class in the first class,
    as in ``nested_classes``.  EditError at the line that cannot be traced."""
    tree = python(file)
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and _forward(node) is not None]
    if not classes:
        raise EditError(file.path, 1, "there is no class with a function forward() in it")
    found = classes[0]
    for name in path:
        found = next(node for node in found.body if isinstance(node, ast.ClassDef) and node.name == name)
    if _forward(found) is None:
        raise EditError(file.path, found.lineno, f"there is no function forward() in the class {found.name}")
    return _Class(file, tree, found, module).traced()


def nested_classes(file: EditedFile) -> list[tuple[tuple[str, ...], ast.ClassDef]]:
    """The classes in the first class of ``file``, which are subgraphs, outer ones first; each with the path of names to
    it."""
    found: list[tuple[tuple[str, ...], ast.ClassDef]] = []
    classes = [node for node in python(file).body if isinstance(node, ast.ClassDef) and _forward(node) is not None]
    waiting: list[tuple[tuple[str, ...], ast.ClassDef]] = [((), node) for node in classes[:1]]
    while waiting:
        path, node = waiting.pop(0)
        inner = [((*path, part.name), part) for part in node.body if isinstance(part, ast.ClassDef)]
        found += inner
        waiting += inner
    return found


def original_functions(module: Any) -> dict[str, Any]:
    """The globals that torch's own text of the graph uses."""
    return dict(module.graph.python_code("self").globals)


def _forward(node: ast.ClassDef) -> ast.FunctionDef | None:
    return next((part for part in node.body if isinstance(part, ast.FunctionDef) and part.name == "forward"), None)


class _Class:
    """One class of the file, and the graph module whose ``forward`` it has."""

    def __init__(self, file: EditedFile, tree: ast.Module, node: ast.ClassDef, module: Any) -> None:
        forward = _forward(node)
        assert forward is not None
        self._file, self._tree, self._forward, self._module = file, tree, forward, module

    def traced(self) -> Retraced:
        function = self._function()
        tracer = _tracer(self._module, self._file)
        inputs = tracer.copied_inputs()
        names = [argument.arg for argument in self._forward.args.posonlyargs + self._forward.args.args][1:]
        given: list[Any] = [inputs] if names == [_BOXED] and [p.node.target for p in inputs] != [_BOXED] else inputs
        if "tree_flatten_spec" in self._file.text:  # a joint graph: the text takes two lists apart
            tracer.flattened, given = inputs, [None] * len(names)
        if given is inputs and names != [_parameter(proxy.node.target) for proxy in inputs]:
            wanted = ", ".join(_parameter(proxy.node.target) for proxy in inputs)
            raise EditError(
                self._file.path, self._forward.lineno, f"the inputs of forward() must stay what torch passes: {wanted}"
            )
        returns = max(
            [n.lineno for n in ast.walk(self._forward) if isinstance(n, ast.Return)], default=self._forward.lineno
        )
        try:
            result = function(_Self(tracer, self._module, ""), *given)
            tracer.lines[tracer.finish(result)] = returns
        except EditError:
            raise
        except Exception as error:
            line = tracer.line_of(error) or returns
            raise EditError(self._file.path, line, f"the graph cannot be traced: {_short(error)}") from None
        for proxy in inputs:
            tracer.lines[proxy.node] = self._forward.lineno
        return Retraced(tracer.graph, tracer.lines, returns)

    def _function(self) -> Callable[..., Any]:
        """The ``forward`` of the text, which makes nodes; runs the rest of the file, its imports and functions."""
        forward = _Instrument().visit(self._forward)
        forward.decorator_list, forward.returns = [], None
        for argument in ast.walk(forward.args):
            if isinstance(argument, ast.arg):
                argument.annotation = None
        rest = [part for part in self._tree.body if not isinstance(part, (ast.ClassDef, ast.If))]
        body = ast.fix_missing_locations(ast.Module([*rest, forward], []))
        scope: dict[str, Any] = original_functions(self._module)
        scope |= {_NAME: _name, _CALL: _call, _INPLACE: _inplace, _STORE: _store, "__name__": "depyf_edited_graph"}
        try:
            exec(compile(body, str(self._file.path), "exec", dont_inherit=True), scope)
        except Exception as error:
            line = _line_in(self._file, error) or self._forward.lineno
            raise EditError(self._file.path, line, f"the file cannot be run: {_short(error)}") from None
        function = scope["forward"]
        assert isinstance(function, types.FunctionType)
        return function


class _Instrument(ast.NodeTransformer):
    """Calls and assignments of a graph go through the functions below."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        return ast.copy_location(ast.Call(_of(_CALL), [node.func, *node.args], node.keywords), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return self.visit(ast.copy_location(ast.Assign([node.target], node.value), node))

    def visit_Assign(self, node: ast.Assign) -> Any:
        self.generic_visit(node)
        (first, *more) = node.targets
        if isinstance(first, ast.Subscript) and not more:
            call = ast.Call(_of(_STORE), [first.value, _index(first.slice), node.value], [])
            return ast.copy_location(ast.Expr(call), node)
        if isinstance(first, ast.Name) and not more:
            node.value = ast.Call(_of(_NAME), [node.value, ast.Constant(first.id)], [])
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return node
        name = ast.Constant(f"i{_OPERATORS[type(node.op)]}")
        value = ast.Call(_of(_INPLACE), [name, _of(node.target.id), node.value], [])
        named = ast.Call(_of(_NAME), [value, ast.Constant(node.target.id)], [])
        return ast.copy_location(ast.Assign([node.target], named), node)


_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.MatMult: "matmul", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor", ast.LShift: "lshift",
    ast.RShift: "rshift",
}  # fmt: skip


def _of(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _index(node: ast.expr) -> ast.expr:
    """What stands between brackets, as an expression that can be an argument."""
    if isinstance(node, ast.Slice):
        return ast.Call(_of("slice"), [part or ast.Constant(None) for part in (node.lower, node.upper, node.step)], [])
    if isinstance(node, ast.Tuple):
        return ast.Tuple([_index(part) for part in node.elts], ast.Load())
    return node


@dataclass(frozen=True)
class _Self:
    """``self`` of a graph, and the modules in it."""

    tracer: Any
    module: Any
    path: str

    def __getattr__(self, name: str) -> Any:
        import torch

        if name in ("_in_spec", "_out_spec"):  # how a joint graph takes its two lists apart
            return None
        value = getattr(self.module, name)  # AttributeError as the program would get it
        path = f"{self.path}.{name}" if self.path else name
        if isinstance(value, torch.nn.Module):
            return _Self(self.tracer, value, path)
        return self.tracer.create_proxy("get_attr", path, (), {})

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_module", self.path, args, kwargs)

    def __fx_create_arg__(self, tracer: Any) -> Any:
        return tracer.create_node("get_attr", self.path, (), {})


def _call(function: Any, *args: Any, **kwargs: Any) -> Any:
    """``function(*args, **kwargs)`` as a node, unless Python itself has to run it."""
    import torch
    from torch.fx.proxy import Attribute, Proxy

    if isinstance(function, (Attribute, Proxy, _Self)):
        return function(*args, **kwargs)
    tracer = next((part.tracer for part in _parts((args, kwargs)) if isinstance(part, (Proxy, _Self))), None)
    tracer = tracer or _tracer_around()
    if tracer is not None and getattr(function, "__name__", "") == "tree_flatten_spec":
        return tracer.flattened
    if getattr(function, "__name__", "") == "tree_unflatten":
        return args[0]
    own = isinstance(function, types.FunctionType) and function.__globals__.get("__name__") == "depyf_edited_graph"
    plain = isinstance(function, type) or any(function is known for known in _OF_PYTHON)
    bound = isinstance(getattr(function, "__self__", None), (list, dict, Proxy))
    if own or plain or bound or tracer is None:
        return function(*args, **kwargs)
    known = isinstance(function, (torch._ops.OpOverload, torch._ops.OpOverloadPacket, torch._ops.HigherOrderOperator))
    symbolic = any(isinstance(part, (Proxy, _Self)) for part in _parts((args, kwargs)))
    if known or symbolic or str(getattr(function, "__module__", None) or "torch").startswith("torch"):
        return tracer.create_proxy("call_function", function, args, kwargs)
    return function(*args, **kwargs)


_OF_PYTHON = (iter, next, len, min, max, print)


def _inplace(name: str, target: Any, value: Any) -> Any:
    from torch.fx.proxy import Proxy

    function = getattr(operator, name)
    if isinstance(target, Proxy):
        return target.tracer.create_proxy("call_function", function, (target, value), {})
    return function(target, value)


def _store(target: Any, index: Any, value: Any) -> None:
    from torch.fx.proxy import Proxy

    if isinstance(target, Proxy):
        target.tracer.create_proxy("call_function", operator.setitem, (target, index, value), {})
    else:
        target[index] = value


def _name(value: Any, name: str) -> Any:
    """Name the node of ``value`` as the text names it, at its first assignment."""
    from torch.fx.proxy import Proxy

    if isinstance(value, Proxy):
        value.tracer.named(value.node, name)
    return value


def _parts(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [found for part in value for found in _parts(part)]
    if isinstance(value, dict):
        return [found for part in value.values() for found in _parts(part)]
    if isinstance(value, slice):
        return [value.start, value.stop, value.step]
    return [value]


_running: list[Any] = []
"""The tracers at work in this thread's call, the innermost last: torch compiles under a lock."""


def _tracer_around() -> Any:
    return _running[-1] if _running else None


def _tracer(module: Any, file: EditedFile) -> Any:
    import torch

    class EditedTracer(torch.fx.Tracer):  # type: ignore[misc, name-defined, unused-ignore]
        """Makes the nodes of one graph."""

        def __init__(self) -> None:
            super().__init__()
            self.root = module
            self.graph = torch.fx.Graph(owning_module=module)
            self.graph.set_codegen(module.graph._codegen)
            self.tensor_attrs: dict[Any, str] = {}
            self.lines: dict[Any, int] = {}
            self._named: dict[Any, str] = {}
            self._wanted: set[str] = set()
            self.flattened: list[Any] = []
            """The inputs, where the text takes them out of lists."""
            _running.append(self)

        def copied_inputs(self) -> list[Any]:
            inputs = []
            for old in module.graph.nodes:
                if old.op != "placeholder":
                    continue
                new = self.graph.create_node("placeholder", old.target, old.args, {}, old.name, old.type)
                new.meta = dict(old.meta)
                if hasattr(old, "_dynamo_source"):
                    new._dynamo_source = old._dynamo_source
                self._wanted.add(new.name)
                inputs.append(self.proxy(new))
            return inputs

        def create_node(self, *args: Any, **kwargs: Any) -> Any:
            node = super().create_node(*args, **kwargs)
            line = _line_of_caller(file)
            if line:
                self.lines[node] = line
            return node

        def named(self, node: Any, name: str) -> None:
            if node.op != "placeholder" and node not in self._named and name not in self._wanted:
                self._named[node] = name
                self._wanted.add(name)

        def finish(self, result: Any) -> Any:
            """End the graph with what ``forward`` returned, and give the nodes their names."""
            output = self.create_node("output", "output", (self.create_arg(result),), {}, None, None)
            taken = set(self._wanted)
            for node in self.graph.nodes:
                if node.op in ("placeholder", "output"):
                    continue
                name = self._named.get(node)
                if name is None:
                    name, number = node.name, 0
                    while name in taken:
                        number += 1
                        name = f"{node.name}_{number}"
                    taken.add(name)
                node.name = name
                self.graph._graph_namespace._used_names.add(name)
            _running.remove(self)
            return output

        def line_of(self, error: BaseException) -> int:
            if self in _running:
                _running.remove(self)
            return _line_in(file, error)

    return EditedTracer()


def _parameter(target: Any) -> str:
    return str(target)


def _line_of_caller(file: EditedFile) -> int:
    """The line of the file that runs, found up the stack."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == str(file.path):
            return frame.f_lineno
        frame = frame.f_back
    return 0


def _line_in(file: EditedFile, error: BaseException) -> int:
    """The innermost line of the file in a traceback."""
    line, entry = 0, error.__traceback__
    while entry is not None:
        if entry.tb_frame.f_code.co_filename == str(file.path):
            line = entry.tb_lineno
        entry = entry.tb_next
    return line


def _short(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
