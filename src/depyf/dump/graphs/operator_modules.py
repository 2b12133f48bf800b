"""Operators that ``import torch`` alone does not register: which module of torch does.

Input: the text of a graph.  Output: names of modules, to be imported before the graph runs; () for a graph of ordinary
operators.  Only modules that this process has loaded are looked at, and nothing is imported or called.

    torch.ops.prims.fma.default(a, b, c)    ->    torch._inductor.inductor_prims
"""

from __future__ import annotations

import re
import sys
from typing import Any

_OPERATOR = re.compile(r"\btorch\.ops\.(\w+)\.(\w+)")
_ORDINARY = ("aten", "higher_order", "prim")


def registering_modules(text: str) -> tuple[str, ...]:
    """The modules that register the operators in ``text``, as far as one of them has the operator."""
    if "torch.ops." not in text:
        return ()
    called = dict.fromkeys(pair for pair in _OPERATOR.findall(text) if pair[0] not in _ORDINARY)
    return tuple(sorted({home for pair in called if (home := _home(*pair))}))


def _home(library: str, name: str) -> str:
    torch = sys.modules.get("torch")
    packet = getattr(getattr(getattr(torch, "ops", None), library, None), name, None)
    if packet is None:
        return ""
    known = {id(packet), *(id(getattr(packet, overload)) for overload in _overloads(packet))}
    modules = [
        (module_name, getattr(module, "__dict__", {}))
        for module_name, module in list(sys.modules.items())
        if module_name.startswith("torch.")
    ]
    homes = [module_name for module_name, names in modules if id(names.get(name)) in known]
    if not homes:  # made by ``torch.library.custom_op``
        whole = f"{library}::{name}"
        homes = [home for home, names in modules if any(_custom(value) == whole for value in list(names.values()))]
    if not homes:  # ``prims.inductor_seeds`` is called ``seeds`` where it is made
        homes = [module_name for module_name, names in modules if not known.isdisjoint(map(id, list(names.values())))]
    return min(homes, key=lambda home: (home.count("."), home), default="")


def _custom(value: Any) -> str:
    """``library::name`` of a ``CustomOpDef``; "" of anything else."""
    if type(value).__name__ != "CustomOpDef":
        return ""
    return f"{vars(value).get('_namespace')}::{vars(value).get('_name')}"


def _overloads(packet: Any) -> list[str]:
    overloads = getattr(packet, "overloads", None)
    return [str(overload) for overload in overloads()] if callable(overloads) else []
