"""Edited graphs and code of Inductor: before and after its post-grad passes, the wrapper, its kernels.

The graph is exchanged where Inductor's passes begin, and where its code generation does.  A wrapper is exchanged where
Inductor is about to write it to its cache: it is told to load the edited file instead, so that what runs are the lines
of that file.  An edited kernel is put back into the wrapper; that text is in a folder of ours, which is removed at the
end.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from depyf.actions.edit.edited.graph_stage import exchanged
from depyf.actions.edit.edited_kernels import with_kernels
from depyf.run.compile_stages import BEFORE_POST_GRAD, POST_GRAD, WRAPPER
from depyf.sources.live.texts_in_force import tell_of
from depyf.views.pages.kernels import kernel_strings

if TYPE_CHECKING:
    from depyf.actions.edit.edited.edited_run import EditedRun


class InductorStages:
    """Between ``start`` and ``stop``, Inductor compiles the edited graphs and loads the edited code."""

    def __init__(self, run: EditedRun) -> None:
        self._run = run
        self._undo: list[Callable[[], None]] = []
        self._loaded: dict[str, None] = {}
        """Edited wrappers that torch has loaded."""
        self._sources: list[str] = []
        """Texts of kernels that torch would not have built."""
        self._folder = ""
        self._failed: list[str] = []
        """Files of kernels that could not be built."""

    def failed(self, path: str) -> None:
        """Note the file ``path`` of an edited kernel that could not be built, so that it is removed at the end."""
        self._failed.append(path)

    def start(self) -> None:
        import torch._inductor.compile_fx as inductor
        from torch._inductor.codecache import PyCodeCache
        from torch._inductor.graph import GraphLowering

        passes, begin, write = inductor._recursive_post_grad_passes, GraphLowering.__init__, PyCodeCache.write

        def recursive_post_grad_passes(gm: Any, *args: Any, **kwargs: Any) -> Any:
            self._graph(BEFORE_POST_GRAD, gm)
            return passes(gm, *args, **kwargs)

        def initialise(lowering: Any, gm: Any, *args: Any, **kwargs: Any) -> None:
            self._graph(POST_GRAD, gm)
            begin(lowering, gm, *args, **kwargs)

        def write_wrapper(source_code: str, *args: Any, **kwargs: Any) -> Any:
            found = self._wrapper(source_code)
            return found if found is not None else write(source_code, *args, **kwargs)

        inductor._recursive_post_grad_passes = recursive_post_grad_passes
        GraphLowering.__init__ = initialise
        PyCodeCache.write = staticmethod(write_wrapper)
        own = PyCodeCache.__dict__["write"]

        def undo() -> None:
            inductor._recursive_post_grad_passes = passes
            GraphLowering.__init__ = begin
            if PyCodeCache.__dict__.get("write") is own:
                PyCodeCache.write = write

        self._undo.append(undo)

    def stop(self) -> None:
        while self._undo:
            self._undo.pop()()
        if "torch._inductor.codecache" in sys.modules:
            self._forget_modules()
            self._forget_libraries()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._loaded, self._sources, self._folder, self._failed = {}, [], "", []

    def _graph(self, stage: str, gm: Any) -> None:
        compilation = self._run.compilation
        if compilation is not None and hasattr(gm, "graph"):
            exchanged(self._run, compilation, stage, gm)

    def _wrapper(self, text: str) -> tuple[str, str] | None:
        """Key and path of the module to load in the place of the one that torch made; None for torch's own."""
        compilation = self._run.compilation
        if compilation is None:
            return None
        uses = self._run.uses
        kernels = uses.files_for(compilation, "", lambda file: (text,), "kernel_source")
        wrapper = uses.file_for(compilation, WRAPPER, lambda file: (text,), "wrapper")
        if wrapper is None and not kernels:
            return None
        for file in (*kernels, *([wrapper] if wrapper is not None else ())):
            tell_of(compilation.compile_id, WRAPPER, str(file.path))
        made = wrapper.text if wrapper is not None else text
        if kernels:
            made = self._run.checked(with_kernels, made, kernels)
        known = set(kernel_strings(text).values())
        self._sources += [source.strip() for source in kernel_strings(made).values() if source not in known]
        key = f"edited_{hashlib.sha256(made.encode()).hexdigest()[:40]}"
        path = self._written(key, made) if kernels or wrapper is None else str(wrapper.path)
        self._loaded[path] = None
        return key, path

    def _written(self, key: str, text: str) -> str:
        self._folder = self._folder or tempfile.mkdtemp(prefix="depyf-edited-")
        path = Path(self._folder) / f"{key}.py"
        path.write_text(text, encoding="utf-8")
        return str(path)

    def _forget_modules(self) -> None:
        from torch._inductor.codecache import PyCodeCache

        for module in list(PyCodeCache.modules):
            path = str(getattr(module, "__file__", ""))
            kernel = path not in self._loaded and self._is_ours(path)
            if path in self._loaded or kernel:
                PyCodeCache.modules.remove(module)
                getattr(PyCodeCache, "modules_no_attr", {}).pop(path, None)
                getattr(PyCodeCache, "linemaps", {}).pop(path, None)
                sys.modules.pop(module.__name__, None)
            if kernel:
                _remove(path)

    def _forget_libraries(self) -> None:
        """The libraries that were built of edited kernels: out of torch's memory and off the disk."""
        import torch._inductor.codecache as codecache

        for name in ("CppCodeCache", "CppPythonBindingsCodeCache", "CppWrapperCodeCache"):
            cache: dict[Any, Any] = getattr(getattr(codecache, name, None), "cache", {})
            for key, library in cache.copy().items():
                path = str(getattr(library, "__file__", None) or getattr(library, "_name", ""))
                stem = path.rpartition(".")[0]
                if stem and self._is_ours(f"{stem}.cpp"):
                    cache.pop(key, None)
                    _remove_all(path)
        for path in self._failed:
            if self._is_ours(path):
                _remove_all(path)

    def _is_ours(self, path: str) -> bool:
        """Whether the file holds an edited kernel."""
        if not self._sources:
            return False
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, ValueError):
            return False
        return any(source in text for source in self._sources)


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


def _remove_all(path: str) -> None:
    """Whatever torch keeps beside it under the same key."""
    for found in Path(path).parent.glob(f"{Path(path).name.partition('.')[0]}.*"):
        _remove(str(found))
