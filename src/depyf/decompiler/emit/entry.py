"""The entry points: a module or a single function as source text.

Input: a code unit and its body in the Python dialect of ``ir/stmt.py``.  Output: an ``Emitted`` whose text parses on
the target version and whose names have the scopes the bytecode gave them (see ``scopes.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from depyf.decompiler.bytecode.codeunit import CodeUnit, units
from depyf.decompiler.bytecode.variables.spelling import read_back
from depyf.decompiler.emit.defaults import NO_DEFAULTS, Defaults
from depyf.decompiler.emit.definitions import as_expression, define, lambda_text, namespace_docstring
from depyf.decompiler.emit.expressions import atoms, fstrings, operators  # noqa: F401  (these register their printers)
from depyf.decompiler.emit.expressions.quoting import unmasked
from depyf.decompiler.emit.grammar import future_features
from depyf.decompiler.emit.naming import Names
from depyf.decompiler.emit.printer import Printer
from depyf.decompiler.emit.result import EmitOptions, Emitted
from depyf.decompiler.emit.scopes import Shadowed, resolve
from depyf.decompiler.ir.expr import Expr, Func
from depyf.decompiler.ir.stmt import Echo, Import, ImportFrom, Return, Stmt
from depyf.decompiler.ir.walk_expr import walk_all
from depyf.decompiler.ir.walk_stmt import walk
from depyf.errors import DecompilationError
from depyf.safety.depth import no_room

_Body = tuple[Stmt, ...]
_MAX_SHADOWS = 20
DEFAULTS = EmitOptions()
MAKER = "__make_"
"""The prefix of functions that only define another one: their parameters are its free variables."""


def emit_module(unit: CodeUnit, body: _Body, options: EmitOptions = DEFAULTS) -> Emitted:
    """A whole module, or what else is no function: an expression for ``eval``, a statement at the prompt.

    The text imports the ``__future__`` features it was compiled under; an expression cannot, so that the caller has to
    pass them to ``compile``.
    """
    return _emit(unit, options, lambda p: _module(p, body))


def emit_function(
    unit: CodeUnit,
    body: _Body,
    *,
    name: str | None = None,
    options: EmitOptions = DEFAULTS,
    defaults: Defaults = NO_DEFAULTS,
) -> Emitted:
    """One function's code object alone: no decorators, and no defaults but those that are given.

    Free variables are provided by an outer function, so that ``co_freevars`` has the same names (CPython sorts them).
    A lambda becomes ``name = lambda ...``; a comprehension's code object becomes a ``def`` that takes the iterator.
    ``Emitted.path`` leads from the module's code object to this function's.
    """
    path: list[str] = []
    emitted = _emit(
        unit, options, lambda p: _function(p, Func(unit, body, defaults.positional, defaults.keyword), name, path)
    )
    return Emitted(
        emitted.text,
        emitted.linemap,
        emitted.renames,
        emitted.consts,
        emitted.cells,
        tuple(path[-2:] if unit.freevars else path[-1:]),
        emitted.labelled,
        emitted.owners,
        builtins=emitted.builtins,
    )


def _emit(unit: CodeUnit, options: EmitOptions, write: Callable[[Printer], None]) -> Emitted:
    """Print; again with stand-ins whenever a global and a variable of one code object share a name."""
    shadows: dict[int, dict[str, str]] = {}
    names = Names(unit, options.lower)
    for _ in range(_MAX_SHADOWS):
        p = Printer(unit, options, shadows, names)
        try:
            write(p)
            inserted = resolve(p.scope, names.spell, options.ordered)
        except Shadowed as found:
            table = shadows.setdefault(id(found.unit), {})
            if all(name in table for name in found.names):
                break
            for name in found.names:
                table[name] = names.fresh(f"{names.spell(name)}_global")
                names.renames[table[name]] = name
            continue
        except RecursionError:
            raise DecompilationError(no_room(), unit.qualname) from None
        except (LookupError, TypeError, ValueError, AttributeError, AssertionError) as error:
            # a bug of depyf in one function must not affect the others
            raise p.fail(f"internal error, please report it: {type(error).__name__}: {error}") from error
        imported = p.consts.renamed if p.whole and p.mode == "exec" else {}
        if imported:
            top = inserted.get(p.scope.slot, [])
            inserted[p.scope.slot] = [*_imports_of_builtins(imported), "", *top]
        return _assemble(p, inserted, imported)
    raise DecompilationError("a name is both a global and a variable of one function", unit.qualname)


def _imports_of_builtins(imported: dict[str, str]) -> list[str]:
    """A line each, so that none gets too long."""
    return [f"from builtins import {own} as {name}" for name, own in imported.items()]


def _assemble(p: Printer, inserted: dict[int, list[str]], imported: dict[str, str]) -> Emitted:
    """Fill the reserved places and count output lines."""
    pads = _slot_pads(p)
    out: list[str] = []
    linemap: list[tuple[int, int | None]] = []
    owners: list[tuple[int, str]] = []
    places: list[int] = []
    number = 1
    for index, text in enumerate(p.lines):
        places.append(len(out))
        if not owners or owners[-1][1] != p.owners[index]:
            owners.append((number, p.owners[index]))
        if text == "\0":
            for line in inserted.get(index, ()):
                out.append(pads[index] + line)
                number += 1
            continue
        if p.starts[index]:
            linemap.append((number, p.sources[index]))
        text = unmasked(text)
        out.append(text)
        number += 1 + text.count("\n")
    places.append(len(out))
    text = "\n".join(out)
    used = {new: old for new, old in p.names.renames.items() if new in text}
    return Emitted(
        text + "\n",
        tuple(linemap),
        used,
        p.consts.objects,
        p.cells,
        labelled=p.labelled,
        owners=tuple(owners),
        mode=p.mode,
        features=tuple(p.features.values()),
        builtins=p.consts.builtins,
        imported=imported,
        entries=tuple(out),
        definitions=tuple([(unit, places[first], places[end]) for unit, first, end in p.definitions]),
    )


def _slot_pads(p: Printer) -> dict[int, str]:
    pads = {}
    pending = [p.scope]
    while pending:
        scope = pending.pop()
        pads[scope.slot] = scope.pad
        pending.extend(scope.children)
    return pads


def _module(p: Printer, body: _Body) -> None:
    p.whole = True
    value = _evaluated(body)
    if value is not None:
        p.mode = "eval"
        p.head(lambda printer, node: printer.expr(node), value, p.unit.firstlineno)
        return
    # at a prompt a string alone is echoed
    rest = body if any(isinstance(stmt, Echo) for stmt in walk(body)) else namespace_docstring(p, body)
    if len(rest) < len(body):
        p.blank = 1
    imports = 0
    while imports < len(rest) and _is_future(rest[imports]):
        imports += 1
    before = _inherited_features(p, rest[:imports])
    p.statements(rest[:imports])
    p.reserve()
    for node in rest[imports:]:
        if before in (Import, ImportFrom) and type(node) not in (Import, ImportFrom):
            p.blank = max(p.blank, 1)
        p.statements((node,))
        before = type(node)


def _evaluated(body: _Body) -> Expr | None:
    """What ``eval`` gives, where this is its code: a module returns nothing."""
    returns = any(isinstance(stmt, Return) and stmt.value is not None for stmt in walk(body))
    return as_expression(body) if returns else None


def _defines(body: _Body) -> bool:
    """Whether ``body`` makes a function that is no lambda, as Dynamo's code does.  Its ``def`` needs a place in
    front."""
    return any(isinstance(node, Func) and node.unit.name != "<lambda>" for node in walk_all(body))


def _is_future(node: Stmt) -> bool:
    return isinstance(node, ImportFrom) and node.module == "__future__" and not node.level


def _inherited_features(p: Printer, imports: Sequence[Stmt]) -> type | None:
    """Import the features that the code was compiled under and that none of its statements imports; the kind of
    statement that was written, if any."""
    own = {name for node in imports if isinstance(node, ImportFrom) for name, _ in node.names}
    for feature in future_features(p.unit.flags):
        if feature not in own:
            p.features[feature] = p.names.fresh(feature)
    if not p.features:
        return None
    listed = [name if name == known else f"{name} as {known}" for name, known in p.features.items()]
    p.line(f"from __future__ import {', '.join(listed)}", None, False)
    return ImportFrom


def _function(p: Printer, func: Func, name: str | None, path: list[str]) -> None:
    unit = func.unit
    p.reserve()
    features = future_features(unit.flags)
    if features:
        p.line(f"from __future__ import {', '.join(features)}", None, False)
        p.blank = 2
    wanted = unit.name if name is None else name
    shown = p.names.spell(wanted)
    path[:] = [read_back(shown)]
    wrapped = wrap_closures(p, unit, shown, path) if unit.freevars else None
    value = as_expression(func.body) if unit.name == "<lambda>" and not _defines(func.body) else None
    if value is not None:
        path[-1] = "<lambda>"
        p.head(lambda printer, node: f"{shown} = {lambda_text(printer, node, value)}", func, unit.firstlineno)
    else:
        define(p, shown, func, None)
    if wrapped is not None:
        p.blank = 0
        p.line(f"return {shown}", None, False)
        p.pad = ""


def wrap_closures(p: Printer, unit: CodeUnit, shown: str, path: list[str]) -> str:
    """Open a function that makes ``unit``'s, given its free variables."""
    name = read_back(shown)
    outer = p.names.fresh(MAKER + name)
    path[:] = [outer, name]
    free = [p.spelled(variable) for variable in unit.freevars]
    p.line(f"def {outer}({', '.join(free)}):", None, False)
    p.enter("function", None)
    p.pad = p.step
    p.scope.stores["fast"].update(unit.freevars)
    if name not in unit.freevars:
        # Else a global of this name that the function uses would be captured.
        p.scope.stores["global"].add(name)
        if any(name in inner.names for inner in units(unit)):
            p.line(f"global {shown}", None, False)
    p.blank, p.fresh_block = 0, True
    return outer
