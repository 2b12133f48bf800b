"""Compiles a ``full_code_for_*`` page to the form that runs alongside torch's own dispatch.

Input: the page, as text on disk.  Output: its dispatchers, compiled to the same lines, where

- ``frame_0.enter`` gives the locals that torch looks at, and the globals;
- ``guards_0_0`` evaluates its expressions one by one and then answers what torch answers;
- the code that would run is not called: torch runs it, right after.

Only the page's own lines are Python frames here, so that a debugger steps from the dispatcher into the guards and back.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import threading
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from depyf.errors import DepyfError
from depyf.safety.unheard import parse
from depyf.sources.live.guards.guard_tree import Globals, Leaf, ask_leaves, live_guards, namespace
from depyf.sources.live.guards.traceless import ITEM, item, looking
from depyf.sources.live.page_access import LiveFrame, LiveGuard, page_text, part
from depyf.sources.live.pure_access import as_torch_sees, untouched


class FollowedGlobals(Globals):
    """The globals as guards see them.  ``chosen``: the page's name of the guards that hold; "" for none."""

    def __init__(self, live: dict[str, Any], chosen: str) -> None:
        super().__init__(live)
        self.chosen = chosen


class _Call(threading.local):
    """What ``enter`` gives in this thread: (L, G)."""

    entered: Any = None


_CALL = _Call()


@dataclass
class DispatchPage:
    """The executed text of one page, and the names that it defines."""

    names: dict[str, Any]
    guards: dict[str, str] = field(default_factory=dict)
    """Compile id -> the name of its guard on the page."""

    def dispatcher(self, name: str) -> types.FunctionType | None:
        """The function ``name`` of the page, which evaluates the guards of a call; None where there is none."""
        found = self.names.get(name)
        return found if isinstance(found, types.FunctionType) else None

    @contextlib.contextmanager
    def following(self, L: dict[str, Any], scope: dict[str, Any], compile_id: str) -> Iterator[None]:
        """While the block lasts, the page evaluates a call with the locals ``L``, for which torch runs
        ``compile_id``."""
        before, _CALL.entered = _CALL.entered, (L, FollowedGlobals(scope, self.guards.get(compile_id, "")))
        try:
            with untouched():
                yield
        finally:
            _CALL.entered = before


def read_page(path: Path) -> DispatchPage:
    """The page at ``path``.  DepyfError where it is not the one that this process wrote."""
    try:
        tree: ast.Module = parse(page_text(path))
    except (SyntaxError, ValueError) as error:
        raise DepyfError(f"{path} is no full_code_for_* file of a dump: {error}") from error
    placeholders: dict[str, str] = {}
    tree.body = [kept for node in tree.body for kept in _followed(node, placeholders)]
    names: dict[str, Any] = {"__name__": path.stem, "__file__": str(path), ITEM: item}
    exec(compile(tree, str(path), "exec", dont_inherit=True), names)
    # functions written in C, so that a debugger that steps has nothing of ours to step into
    enter = types.SimpleNamespace(enter=functools.partial(getattr, _CALL, "entered"))
    page = DispatchPage(names)
    for name, value in list(names.items()):
        if isinstance(value, LiveFrame):
            names[name] = enter
        elif isinstance(value, LiveGuard):
            page.guards[value.compile_id] = name
            names[name] = FollowedGuard(FollowedLeaf(value, number) for number in range(value.count))
    names.update({name: text.replace("{", "(").replace("}", ")").format for name, text in placeholders.items()})
    return page


def _followed(node: ast.stmt, placeholders: dict[str, str]) -> list[ast.stmt]:
    """A statement of the page in followed form."""
    kind, owner = part(node)
    if not isinstance(node, ast.FunctionDef):
        return [node]
    if kind == "runs":
        placeholders[node.name] = f"torch goes on in {node.name}"
        return []
    if kind == "original":
        placeholders[node.name] = "torch goes on: no entry of this page fits, it looks for a newer one, or compiles"
        return []
    if kind == "confirmed":
        return [looking(_answering(node, owner))]
    return [node]


def _answering(node: ast.FunctionDef, guard: str) -> ast.FunctionDef:
    """``return A and B`` becomes: evaluate A and B, whatever they raise; then return whether torch chose ``guard``."""
    answer = parse(f"G.chosen == {guard!r}", mode="eval").body
    last = node.body[-1]
    if not isinstance(last, ast.Return) or last.value is None:
        return node
    shown = ast.Expr(last.value)
    tried = ast.Try([shown], [ast.ExceptHandler(ast.Name("Exception", ast.Load()), None, [ast.Pass()])], [], [])
    returned = ast.Return(answer)
    for made in (shown, tried, *ast.walk(tried.handlers[0]), *ast.walk(returned)):
        if isinstance(made, (ast.stmt, ast.expr, ast.excepthandler)):
            made.lineno, made.end_lineno = (last.end_lineno or last.lineno,) * 2
            made.col_offset = made.end_col_offset = 0
    tried.lineno = shown.lineno = last.lineno
    return ast.FunctionDef(
        **{name: getattr(node, name) for name in node._fields if name not in ("body", "decorator_list")},
        body=[*node.body[:-1], tried, returned], decorator_list=[],
        lineno=node.lineno, col_offset=0, end_lineno=node.end_lineno, end_col_offset=0,
    )  # fmt: skip


class FollowedGuard(list["FollowedLeaf"]):
    """The guards of an entry; ``refuse`` does nothing, and is written in C: torch raises, right after."""

    refuse = staticmethod("torch raises for {}".format)


class FollowedLeaf:
    """One guard of an entry, evaluated by torch; ``check`` returns None where torch cannot be asked."""

    def __init__(self, guard: LiveGuard, number: int) -> None:
        self._guard = guard
        self._number = number

    def check(self, value: Any) -> bool | None:
        with as_torch_sees():
            answers = [answer for leaf in self._leaves() if (answer := leaf.ask(value)) is not None]
        return all(answers) if answers else None

    def check_frame(self, L: dict[str, Any], G: Any) -> bool | None:
        leaves = self._leaves()
        with as_torch_sees():
            return ask_leaves(leaves, namespace(self._guard.entry, L)) if leaves else None

    def _leaves(self) -> tuple[Leaf, ...]:
        expression = self._guard.frame.expression(self._guard.compile_id, self._number)
        return _leaves_by_text(self._guard).get(expression or "", ())


def _leaves_by_text(guard: LiveGuard) -> dict[str, tuple[Leaf, ...]]:
    """The leaf guards of an entry by their text; {} where the entry is gone.  Read once per page."""
    kept = guard.followed
    entry = next((e for e in guard.frame.entries if e.compile_id == guard.compile_id), None)
    if entry is None:
        return {}
    if kept is None or kept[0] is not entry.manager:
        kept = entry.manager, {found.record.expression: found.leaves for found in live_guards(entry)}
        guard.followed = kept
    return kept[1]
