"""What an ``import`` statement inside a function binds, where its modules are loaded.  Nothing is imported."""

from __future__ import annotations

import ast
import sys
import types
from collections.abc import Iterator
from typing import Any

from depyf.actions.claims.live_attributes import found
from depyf.actions.claims.terms import NotTriedError


def imported(node: ast.Import | ast.ImportFrom, package: Any) -> Iterator[tuple[str, Any, str]]:
    """(name, what it is bound to, its full name).  ``package``: ``__package__`` of the globals, for relative imports.
    NotTriedError for a module that is not loaded, and for ``*``."""
    if isinstance(node, ast.Import):
        for one in node.names:
            whole = _loaded(one.name)
            first = one.name.partition(".")[0]
            yield (one.asname, whole, one.name) if one.asname else (first, _loaded(first), first)
        return
    name = _absolute(node, package)
    module = _loaded(name)
    for one in node.names:
        if one.name == "*":
            raise NotTriedError("a statement from ... import *")
        full = f"{name}.{one.name}"
        inner = one.name not in vars(module) and sys.modules.get(full)
        yield one.asname or one.name, inner or found(module, one.name)[0], full


def _absolute(node: ast.ImportFrom, package: Any) -> str:
    if not node.level:
        return node.module or ""
    if type(package) is not str:
        raise NotTriedError("a relative import without a package")
    outer = package.rsplit(".", node.level - 1)[0] if node.level > 1 else package
    return f"{outer}.{node.module}" if node.module else outer


def _loaded(name: str) -> types.ModuleType:
    module = sys.modules.get(name)
    if type(module) is not types.ModuleType:
        raise NotTriedError(f"an import of {name}")
    return module
