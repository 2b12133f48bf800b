"""``calls.py`` and ``model.py`` of a package: for each entry arguments like those it was compiled for.

Input: what the guards and graphs say of the values of each call.  Output: the texts.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from depyf.actions.export.dumped_function import DumpedCode, DumpedEntry
from depyf.actions.export.texts.hook_list import Hooks
from depyf.actions.export.values.guarded_values import GuardedValues
from depyf.actions.export.values.made_values import Maker, Model
from depyf.decompiler.emit.comments import in_docstring
from depyf.run.guards.guarded_path import Path
from depyf.safety.escape import printable
from depyf.safety.unheard import parse
from depyf.views.pages.wrap import wrap


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """The recorded call for which one entry was compiled."""

    entry: DumpedEntry
    name: str
    graphs: tuple[str, ...]
    """Those whose recorded inputs it uses."""
    values: GuardedValues
    state: tuple[str, ...] = ()
    """Keywords of ``Call``: what of torch's state is other than usual."""


def calls_text(
    code: DumpedCode, calls: Sequence[RecordedCall], hooks: Hooks, free: Sequence[str], tensors: Sequence[str]
) -> tuple[str, dict[str, Model]]:
    """The text of ``calls.py``, and the models of the first call, for ``model.py``.

    ``free``: free variables; ``tensors``: globals that are inputs of graphs.  Both are filled into ``hooks`` by a call.
    """
    first = Maker(hooks)
    bodies = []
    for call in calls:
        maker = Maker(hooks)
        bodies.append(_call(code, call, maker, first, free, tensors))
        for name, model in maker.models.items():
            first.models.setdefault(name, model).also(model)
    text = "\n\n\n".join(bodies)
    lines = [
        '"""Calls like those that each entry was compiled for: recorded tensors, and values that the guards know."""',
        "",
    ]
    lines += [f"import {name}" for name in ("collections", "importlib", "torch") if f"{name}." in text]
    lines += [""] if lines[-1] else []
    local = [name for name in ("hooks", "model") if f"{name}." in text]
    lines += [f"from . import {', '.join(local)}"] if local else []
    names = ["Call", "Inputs", *(["thing"] if "thing(" in text else [])]
    lines.append(f"from .runtime import {', '.join(names)}")
    lines += ["", "", text, "", "", "CALLS = [" + ", ".join(f"call_{call.entry.slug}" for call in calls) + "]"]
    return "\n".join(lines) + "\n", first.models


def _call(
    code: DumpedCode, call: RecordedCall, maker: Maker, first: Maker, free: Sequence[str], tensors: Sequence[str]
) -> str:
    slug = call.entry.slug
    graphs = ", ".join(repr(name) for name in call.graphs)
    lines = [
        f"def call_{slug}():",
        f'    """Like the call that {in_docstring(printable(call.entry.compile_id))} was compiled for."""',
    ]
    lines.append(f"    inputs = Inputs({graphs})")
    made: dict[str, str] = {}
    for name in code.locals:
        path = Path("L", name)
        known = call.values.find(path)
        text = maker.value(known, path) if known is not None else _default(code.signature, name)
        if text == f"model.make_{path.slug}(inputs)" and path.slug in first.models:
            changed = _changed(first.models[path.slug], maker.models[path.slug])
            text = f"model.make_{path.slug}(inputs, {changed})" if changed else text
        made[name] = text
    variables = dict(zip(code.locals, code.given))
    lines += [f"    {variables[name]} = {text}" for name, text in made.items()]
    lines += _ties(call.values, maker.models)
    arguments, keywords = _arguments(code.signature, made)
    set_first = {name: maker.value(known, path) for mapping, names in (("L", free), ("G", tensors)) for name in names
                 if (known := call.values.find(path := Path(mapping, name))) is not None}  # fmt: skip
    given = [repr(call.name), f"[{', '.join(arguments)}]", f"{{{', '.join(keywords)}}}", "inputs"]
    if set_first:
        given.append("{" + ", ".join(f"{name!r}: {text}" for name, text in set_first.items()) + "}")
    given += call.state
    lines += wrap("return Call(", given, ")", "    ")
    return "\n".join(lines)


def _changed(base: Model, other: Model) -> str:
    """The attributes that this call finds otherwise than the first, as a dict."""
    changed = {name: text for name, text in other.values.items() if base.values.get(name) != text}
    return "{" + ", ".join(f"{name!r}: {text}" for name, text in changed.items()) + "}" if changed else ""


def _ties(values: GuardedValues, models: Mapping[str, Model]) -> list[str]:
    """Places that hold the same object, as assignments; those within one model are made with it."""
    lines = []
    for left, right, one, two in values.same:
        if one.mapping == two.mapping == "L" and not (one.name == two.name and one.name in models):
            lines.append(_tie(left, right, values))
    return lines


def _tie(left: ast.expr, right: ast.expr, values: GuardedValues) -> str:
    """The place that little is known of gets what the other one holds."""
    one, two = values.weight(left), values.weight(right)
    target, source = (right, left) if one > two else (left, right)
    return f"    {_spelled(target)} = {_spelled(source)}"


def _spelled(node: ast.expr) -> str:
    """``L['x'].a`` is ``x.a``."""
    return ast.unparse(_Locals().visit(parse(ast.unparse(node), mode="eval")))


class _Locals(ast.NodeTransformer):
    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id == "L" and isinstance(node.slice, ast.Constant):
            return ast.Name(str(node.slice.value), node.ctx)
        return self.generic_visit(node)


def _default(signature: ast.arguments, name: str) -> str:
    """The default value of a parameter that nothing is known of; nothing compiled looks at it."""
    positional = [*signature.posonlyargs, *signature.args]
    pairs = dict(zip([a.arg for a in positional[len(positional) - len(signature.defaults) :]], signature.defaults))
    pairs |= {a.arg: value for a, value in zip(signature.kwonlyargs, signature.kw_defaults) if value is not None}
    if signature.vararg is not None and signature.vararg.arg == name:
        return "()"
    if signature.kwarg is not None and signature.kwarg.arg == name:
        return "{}"
    return ast.unparse(pairs[name]) if name in pairs else "None"


def _arguments(signature: ast.arguments, made: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """The positional arguments and the items of the keyword arguments."""
    arguments = [a.arg for a in (*signature.posonlyargs, *signature.args)]
    keywords = [f"{a.arg!r}: {a.arg}" for a in signature.kwonlyargs]
    if signature.vararg is not None and made.get(signature.vararg.arg, "()") != "()":
        arguments.append(f"*{signature.vararg.arg}")
    if signature.kwarg is not None and made.get(signature.kwarg.arg, "{}") != "{}":
        keywords.append(f"**{signature.kwarg.arg}")
    return arguments, keywords


def model_text(models: Mapping[str, Model], roots: Mapping[str, str], values: GuardedValues) -> str:
    """``model.py``; ``roots``: model -> the method of its class that is the function of the package, where it is
    one."""
    text = "\n\n\n".join(_model(model, roots.get(name, ""), values) for name, model in models.items())
    called = "hooks." in text
    imports = [name for name in ("collections", "importlib") if f"{name}." in text]
    lines = [
        '"""The modules that the compiled code reads, with the classes of the program as empty shells.',
        "",
        "Parameters and buffers have the names that they have in a state_dict.",
        '"""',
        "",
        *(f"import {name}" for name in imports),
        "import torch",
        "",
        *(["from . import functions, hooks" if called else "from . import functions"] if any(roots.values()) else
          ["from . import hooks"] if called else []),
        f"from .runtime import Inputs, module{', thing' if 'thing(' in text else ''}",
    ]  # fmt: skip
    return "\n".join(lines) + f"\n\n\n{text}\n"


def _model(model: Model, method: str, values: GuardedValues) -> str:
    lines = [f"def make_{model.name}(inputs=None, changed=None):"]
    lines += [
        (
            f'    """``{in_docstring(model.path)}``: tensors from ``inputs``, '
            'attributes in ``changed`` other than usual."""'
        )
    ]
    lines.append("    inputs = inputs or Inputs()")
    lines += _table("kinds", {name: repr(kind) for name, kind in model.kinds.items()})
    tensors = {
        **{name: _tensor(model.path, name, text, True) for name, text in model.parameters.items()},
        **{name: _tensor(model.path, name, text, False) for name, text in model.buffers.items()},
    }
    lines += _table("tensors", tensors)
    lines += _table("values", model.values)
    forward = f"{{{method!r}: functions.{method}}}" if method else "None"
    made = f"module(kinds, {{**values, **(changed or {{}})}}, tensors, {forward})"
    ties = [
        _tie(left, right, values)
        for left, right, one, two in values.same
        if one.mapping == two.mapping == "L" and one.name == two.name == model.path
    ]
    lines += [f"    {model.path} = {made}", *ties, f"    return {model.path}"] if ties else [f"    return {made}"]
    return "\n".join(lines)


def _tensor(model: str, name: str, text: str, parameter: bool) -> str:
    if text == "None":
        return "None"
    return f"inputs({f'{model}.{name}'!r}, {text}{', parameter=True' if parameter else ''})"


def _table(name: str, items: Mapping[str, str]) -> list[str]:
    if not items:
        return [f"    {name} = {{}}"]
    return [f"    {name} = {{", *(f"        {key!r}: {text}," for key, text in items.items()), "    }"]
