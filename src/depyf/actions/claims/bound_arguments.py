"""What each parameter of a function gets in a call, as Python binds arguments."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from depyf.actions.claims.terms import NotTriedError


def bound(
    wanted: ast.arguments,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    defaults: tuple[Any, ...],
    keyword_defaults: Mapping[str, Any],
    own: Callable[[dict[str, Any]], Any],
) -> dict[str, Any]:
    """Parameter -> its value.  ``own`` registers the dict of a ``**`` parameter.  NotTriedError for arguments that do
    not fit."""
    names = [one.arg for one in (*wanted.posonlyargs, *wanted.args)]
    given = dict(zip(names, args, strict=False))
    rest, left = args[len(names) :], dict(kwargs)
    for name in names[len(wanted.posonlyargs) :]:
        if name in left:
            if name in given:
                raise NotTriedError("a call with wrong arguments")
            given[name] = left.pop(name)
    for name, value in zip(names[len(names) - len(defaults) :], defaults, strict=True):
        given.setdefault(name, value)
    for one in wanted.kwonlyargs:
        if one.arg in left:
            given[one.arg] = left.pop(one.arg)
        elif one.arg in keyword_defaults:
            given[one.arg] = keyword_defaults[one.arg]
    if wanted.vararg is not None:
        given[wanted.vararg.arg] = tuple(rest)
        rest = ()
    if wanted.kwarg is not None:
        given[wanted.kwarg.arg] = own(left)
        left = {}
    if rest or left or any(name not in given for name in (*names, *(one.arg for one in wanted.kwonlyargs))):
        raise NotTriedError("a call with wrong arguments")
    return given
