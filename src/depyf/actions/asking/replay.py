"""Run the Python replica of torch's dispatcher: ``depyf.replay``.

Input: a compiled function, or a dumped ``full_code_for_*`` file in the process that made it.  Output: a callable that
takes the arguments of the compiled function, evaluates the guards in the page's Python, entry by entry, and calls the
code torch would run.  Where torch would compile, the original runs; nothing is compiled and no cache changes.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import shutil
import tempfile
import types
import weakref
from pathlib import Path
from typing import Any

from depyf.errors import DepyfError
from depyf.safety.unheard import parse, warns
from depyf.sources.live import page_access as live
from depyf.sources.live.guards.ask import EntryAnswer, ask_entry
from depyf.sources.live.guards.traceless import ITEM, item, looking
from depyf.sources.live.target import Target, find_target


class Replay:
    """The dispatcher of one function, in Python.  ``path`` is its page: breakpoints set there are hit."""

    def __init__(self, module: types.ModuleType, dispatcher: Any, target: Target, made: Path | None = None) -> None:
        self.module = module
        self.path = str(module.__file__)
        self._dispatcher = dispatcher
        self._target = target
        if made is not None:  # the folder of a page that was made for this replay lives as long as the replay
            weakref.finalize(self, shutil.rmtree, made, ignore_errors=True)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the compiled function returns for these arguments, dispatched by the page."""
        module = self._target.module
        if module is None or not _has_hooks(module):
            return self._dispatch(*args, **kwargs)
        state = vars(module)  # as torch has it: the hooks run as Python, around the forward that is dispatched
        before = state.get("forward", self)
        state["forward"] = self._dispatch
        try:
            return module._call_impl(*args, **kwargs)
        finally:
            if before is self:
                del state["forward"]
            else:
                state["forward"] = before

    def _dispatch(self, *args: Any, **kwargs: Any) -> Any:
        bound = self._target.bind(args, kwargs)
        return self._dispatcher(*bound.args, **bound.kwargs)

    def steps(self, *args: Any, **kwargs: Any) -> tuple[EntryAnswer, ...]:
        """Every guard of every entry, in torch's order, evaluated for these arguments; nothing runs."""
        L = self._target.frame_locals(args, kwargs)
        return tuple(ask_entry(entry, L) for entry in self._target.entries)

    @property
    def disagreements(self) -> tuple[str, ...]:
        """The cases in which torch and the expressions on the page gave different answers, as text."""
        guards = [value for value in vars(self.module).values() if isinstance(value, live.LiveGuard)]
        return tuple(text for guard in guards for text in guard.disagreements)

    def __repr__(self) -> str:
        return f"<depyf.replay of {self._target.function.__qualname__}, {self.path}>"


_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def _has_hooks(module: Any) -> bool:
    """Whether a call of ``module`` is more than a call of its ``forward``."""
    from torch.nn.modules import module as of_torch  # _has_any_global_hook() is not in 2.6

    return any(getattr(module, name, None) or getattr(of_torch, "_global" + name, None) for name in _HOOKS)


def replay(target: Any, directory: str | os.PathLike[str] | None = None) -> Replay:
    """See ``depyf.replay``, which lists the errors."""
    if isinstance(target, (str, os.PathLike)):
        return _load(Path(target).absolute(), None)
    found = find_target(target)
    if not found.entries:
        name = found.function.__qualname__
        raise DepyfError(
            f"{name} has no compiled code: it was not called yet, or torch runs it as ordinary Python "
            "(depyf.explain says why)"
        )
    from depyf.actions.asking.cached_records import cached_page

    try:
        folder = Path(tempfile.mkdtemp(prefix="depyf-replay-") if directory is None else directory)
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DepyfError(f"cannot make the folder {directory}: {error.strerror}") from error

    return _load(cached_page(found, folder), found, folder if directory is None else None)


def _load(path: Path, target: Target | None, made: Path | None = None) -> Replay:
    """The page as a separate module, and its first function, which is the dispatcher of the root."""
    try:
        tree: ast.Module = parse(live.page_text(path))
        root = next(node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))
    except (SyntaxError, ValueError, StopIteration) as error:
        raise DepyfError(f"{path} is no full_code_for_* file of a dump: {error or 'no function in it'}") from error
    spec = importlib.util.spec_from_file_location(f"{path.stem}_{abs(hash(str(path))):x}", path)
    if spec is None or spec.loader is None:
        raise DepyfError(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    vars(module)[ITEM] = item
    for node in tree.body:
        if live.part(node)[0] == "confirmed":
            looking(node)
        elif live.part(node)[0] in ("original", "runs") and isinstance(node, ast.FunctionDef) and warns(node):
            node.body = [ast.copy_location(ast.Pass(), node)]  # it is shown; what runs is the program's own
    exec(compile(tree, str(path), "exec", dont_inherit=True), vars(module))
    if target is None:
        frames = [value for value in vars(module).values() if isinstance(value, live.LiveFrame)]
        if not frames:
            raise DepyfError(f"{path} is no full_code_for_* file of a dump")
        target = Target(frames[0].function())
    return Replay(module, getattr(module, root), target, made)
