"""What ``torch.compiler.precompile.load`` returns of an artefact of frames (torch 2.15).

Input: any object.  Output: ``Dispatch``: the guards and the code of a frame that Dynamo traced, found in what the
artefact's driver closes over.  None for other objects.  Nothing is called.
"""

from __future__ import annotations

import sys
import types
import weakref
from dataclasses import dataclass
from typing import Any

from depyf.sources.live.pure_access import attribute, cell_contents

_MODULE = "torch._precompile"
_LOADED = "_loaded_forward"
_EMPTY = object()


@dataclass(frozen=True, slots=True)
class Dispatch:
    """A frame of an artefact: each variant is tried, in this order.  Holds live objects."""

    code: types.CodeType
    """Before Dynamo."""
    variants: tuple[tuple[Any, types.CodeType], ...]
    """Guards, and what Dynamo made."""
    scope: dict[str, Any]
    defaults: tuple[Any, ...] | None = None


def dispatch_of(value: Any) -> Dispatch | None:
    """The entry of a loaded artefact of frames, or the resume function of one."""
    function = forward_of(value)
    known = _cells(function)
    inner = known.get("_dispatch_with")
    found = _cells(inner)
    variants, code = found.get("variants"), found.get("target")
    if type(variants) is not list or type(code) is not types.CodeType:
        return None
    pairs = [pair for pair in variants if type(pair) is tuple and len(pair) == 2 and type(pair[1]) is types.CodeType]
    if not pairs or len(pairs) != len(variants):
        return None
    bound = known.get("bound")
    made = bound[0][1] if type(bound) is list and bound and type(bound[0]) is tuple else None
    scope = attribute(made, "__globals__") or _scope_of(pairs[0][0])
    return Dispatch(code, tuple(pairs), scope, attribute(made, "__defaults__"))


_RESTS: dict[int, tuple[weakref.ref[types.CodeType], weakref.ref[Any], int]] = {}
"""The address of the code of a resume function -> it, what is called, and which of all it is."""


def remember_rest(function: Any, dispatch: Dispatch) -> types.CodeType:
    """Remember that ``function`` is the resume function with the code of ``dispatch``; returns that code."""
    code, place, known = dispatch.code, id(dispatch.code), _RESTS

    def gone(reference: weakref.ref[types.CodeType]) -> None:
        if place in known and known[place][0] is reference:
            del known[place]

    if place not in known or known[place][0]() is not code:
        number = max((number for _, _, number in known.values()), default=0) + 1
        known[place] = weakref.ref(code, gone), weakref.ref(function), number
    return code


def rest_of_artefact(code: types.CodeType) -> tuple[Dispatch, int] | None:
    """The dispatch of the resume function of a loaded artefact that has this code, and its number; None for other
    code."""
    found = _RESTS.get(id(code))
    dispatch = dispatch_of(found[1]()) if found is not None and found[0]() is code else None
    return None if found is None or dispatch is None else (dispatch, found[2])


def backend_of_precompiled(value: Any) -> str | None:
    """The name of the backend of an artefact; None for any other object."""
    found = attribute(value, "_backend")
    return found if type(found) is str else None


def forward_of(value: Any) -> Any:
    """The function that a call of ``value`` runs, for a loaded artefact or a function; None for other objects."""
    kind = attribute(sys.modules.get(_MODULE), "PrecompiledModule", ())
    found = attribute(value, _LOADED) if type(value) is kind else value
    return found if type(found) is types.FunctionType else None


def _cells(function: Any) -> dict[str, Any]:
    if type(function) is not types.FunctionType:
        return {}
    pairs = zip(function.__code__.co_freevars, function.__closure__ or ())
    return {name: found for name, cell in pairs if (found := cell_contents(cell, _EMPTY)) is not _EMPTY}


def _scope_of(manager: Any) -> dict[str, Any]:
    scope = attribute(manager, "global_scope")
    found = scope.get("G") if type(scope) is dict else None
    return found if type(found) is dict else {}
