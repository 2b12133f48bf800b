"""``depyf.debug(level=...)``: compile again at another level, run the dumped text of that level, forget it all on exit.

The program is not edited: ``torch.compiler.set_stance(force_backend=...)`` puts depyf's backend in the place of the
program's.  Torch keeps cache entries apart by backend, so the entries of the program are neither used nor lost; ours
are taken out of the cache on exit.

| level   | what runs                                            | dumped file                          |
|---------|------------------------------------------------------|--------------------------------------|
| graph   | the graph Dynamo captured, called eagerly            | ``*.Captured_Graph.*``               |
| aot     | AOTAutograd's forward and backward, called eagerly   | ``*.Forward_graph.*``, ``*.Backward_graph.*`` |
| wrapper | the code that Inductor generates                     | ``*.kernel_*``                       |
| kernel  | the same; its Triton kernels in Triton's interpreter | ``*.kernel_*.NAME.py``               |

Warm caches are passed by, for they hold no graph that could be stepped through.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import types
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from depyf.actions.debugger.stepping.interpreted_kernels import Interpreting
from depyf.actions.debugger.stepping.level_files import LevelFiles, printed
from depyf.run.compile_stages import BACKWARD, CAPTURED, FORWARD, POST_GRAD, WRAPPER
from depyf.safety.guarded import Door, problem, say
from depyf.sources.live.caches.entries import cache_entries
from depyf.sources.live.caches.live_graphs import calls_graphs, wrapper_path
from depyf.sources.live.recording.transform import current_compile_id

if TYPE_CHECKING:
    from depyf.sources.live.recording.session import Session

Level = Literal["graph", "aot", "wrapper", "kernel"]
LEVELS: tuple[Level, ...] = ("graph", "aot", "wrapper", "kernel")


@dataclass
class LevelRun:
    """The forced backend of one ``depyf.debug(level=...)``, from ``start`` to ``stop``."""

    level: Level
    session: Session
    files: LevelFiles
    _stance: Any = None
    _hook: Any = None
    _backend: Callable[..., Any] | None = None
    _let_go: Callable[[], None] = field(default=lambda: None)
    _interpreting: Interpreting | None = None
    _codes: dict[int, tuple[types.CodeType, frozenset[str]]] = field(default_factory=dict)
    """What was compiled, by its id, and the entries it had before."""

    def start(self) -> None:
        """Force the level from now on: torch compiles every called function again."""
        import torch
        from torch._dynamo.convert_frame import register_bytecode_hook

        if self.level == "kernel":
            self._interpreting = Interpreting()
            self._interpreting.start()
        self._backend, self._let_go = outliving(self._backend_of_level())
        self._hook = register_bytecode_hook(self._see_code)
        self._stance = torch.compiler.set_stance(force_backend=self._backend)

    def stop(self) -> None:
        """Restore the stance, the hook and torch's caches."""
        steps: list[Callable[[], object]] = []
        if self._stance is not None:
            steps.append(functools.partial(self._stance.__exit__, None, None, None))
        if self._hook is not None:
            steps.append(self._hook.remove)
        if self._interpreting is not None:
            steps.append(self._interpreting.stop)
        codes, self._codes = self._codes, {}
        steps += [functools.partial(drop_entries, code, self._backend, before) for code, before in codes.values()]
        self._stance = self._hook = self._interpreting = None
        for step in (*steps, self._let_go):
            with Door("depyf: the end of a level"):
                step()

    def _see_code(self, code: types.CodeType, made: types.CodeType) -> types.CodeType | None:
        with Door(code.co_name, self.files.note):
            if id(code) not in self._codes:
                self._codes[id(code)] = code, frozenset(entry.compile_id for entry in cache_entries(code))
            return self.files.transformed(code, made)
        return None  # Dynamo's own bytecode runs

    def _backend_of_level(self) -> Callable[..., Any]:
        if self.level == "graph":
            return self._graph
        if self.level in ("wrapper", "kernel"):
            return self._wrapper
        return self._inductor_aot if self._dumped_with_inductor() else self._plain_aot

    def _dumped_with_inductor(self) -> bool:
        return any(graph.record.stage in (POST_GRAD, WRAPPER) for graph in self.session.capture.graphs)

    def _graph(self, gm: Any, example_inputs: Any) -> Any:
        self.files.graph(CAPTURED, gm, current_compile_id())
        return self._pausing(gm.forward)

    def _plain_aot(self, gm: Any, example_inputs: Any) -> Any:
        """What the backend ``aot_eager`` does, with our forward and backward."""
        from torch._dynamo.backends.debugging import aot_eager

        forward, backward = self._aot_compilers(_boxed_eager())
        with no_caches():
            return aot_eager(gm, example_inputs, fw_compiler=forward, bw_compiler=backward)

    def _inductor_aot(self, gm: Any, example_inputs: Any) -> Any:
        """Inductor's decompositions and partitioner; the graphs it would compile are called instead."""
        from torch._inductor.compile_fx import compile_fx

        forward, backward = self._aot_compilers(lambda graph, inputs: boxed(graph.forward))

        def inner(graph: Any, inputs: Any, *args: Any, is_backward: bool = False, **kwargs: Any) -> Any:
            return (backward if is_backward else forward)(graph, inputs)

        with no_caches(), _inference_graphs_as_they_are():
            return compile_fx(gm, example_inputs, inner_compile=inner)

    def _aot_compilers(self, runnable: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """Compilers of the forward and the backward graph; ``runnable(graph, inputs)`` is what torch will call."""
        compile_id = current_compile_id()  # the backward may be compiled later, on behalf of this frame

        def compiler(stage: str) -> Callable[..., Any]:
            def compile_graph(graph: Any, inputs: Any) -> Any:
                text = ""
                with Door(f"{stage} of {compile_id} cannot be printed", self.files.note):
                    text = printed(graph)
                made = runnable(graph, inputs)  # may rewrite the graph's calling convention
                self.files.graph(stage, graph, compile_id, text)
                return self._pausing(made)

            return compile_graph

        return compiler(FORWARD), compiler(BACKWARD)

    def _wrapper(self, gm: Any, example_inputs: Any) -> Any:
        from torch._inductor.compile_fx import compile_fx, compile_fx_inner

        compile_id = current_compile_id()

        def inner(graph: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
            compiled = compile_fx_inner(graph, inputs, *args, **kwargs)
            with Door(f"the wrapper of {compile_id} cannot be stepped through", self.files.note):
                path = wrapper_path(str(getattr(compiled, "source_code", "") or ""))
                if path:
                    self.files.wrapper(path, compile_id)
                if self._interpreting is not None:
                    self.files.kernels(path, compile_id, self._interpreting)
                self._pause_in(compiled)
            return compiled

        with no_caches(), self._settings():
            return compile_fx(gm, example_inputs, inner_compile=inner)

    def _pausing(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """``call``, with the pause for what is new before its first call."""
        if not self.files.pauses():
            return call

        def paused(*args: Any) -> Any:
            with Door("depyf: the pause", self.files.note):
                self.files.pause()
            return call(*args)

        paused.__dict__.update(vars(call) if isinstance(call, types.FunctionType) else {})  # torch's calling convention
        return paused

    def _pause_in(self, compiled: Any) -> None:
        """Announce new files before code that Inductor compiled runs."""
        call = getattr(compiled, "current_callable", None)
        if call is None or not self.files.pauses():
            self.files.pause()
            return

        def paused(*args: Any) -> Any:
            compiled.current_callable = call
            with Door("depyf: the pause", self.files.note):
                self.files.pause()
            return call(*args)

        compiled.current_callable = paused

    def _settings(self) -> contextlib.AbstractContextManager[Any]:
        """A kernel that is interpreted cannot be part of a CUDA graph."""
        import torch._inductor.config as config

        return config.patch({"triton.cudagraphs": False}) if self.level == "kernel" else contextlib.nullcontext()


def _boxed_eager() -> Callable[..., Any]:
    """torch's own way to call a graph of ``aot_eager``; up to 2.6 it interprets the graph, whose code never runs
    then."""
    from torch._dynamo.backends.debugging import boxed_nop

    if calls_graphs():
        call: Callable[..., Any] = boxed_nop
        return call
    return lambda graph, inputs: boxed(graph.forward)


def boxed(function: Callable[..., Any]) -> Callable[..., Any]:
    """AOTAutograd's calling convention: one list, emptied by the callee, so that arguments can be freed early."""

    def call(args: list[Any]) -> Any:
        values = tuple(args)
        args.clear()
        return function(*values)

    call._boxed_call = True  # type: ignore[attr-defined]
    return call


@contextlib.contextmanager
def _inference_graphs_as_they_are() -> Iterator[None]:
    """Inductor's joint passes run where they belong to the partitioner; in inference they would rewrite the graph that
    AOTAutograd made, which is the one in the dump."""
    import torch._inductor.compile_fx as inductor

    passes = getattr(inductor, "_recursive_joint_graph_passes", None)
    if passes is None:
        yield
        return

    def only_before_partitioning(gm: Any, *args: Any, **kwargs: Any) -> Any:
        partitioning = sys._getframe(1).f_code.co_name == "partition_fn"
        return passes(gm, *args, **kwargs) if partitioning else gm

    inductor._recursive_joint_graph_passes = only_before_partitioning
    try:
        yield
    finally:
        inductor._recursive_joint_graph_passes = passes


def outliving(backend: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[[], None]]:
    """``backend`` for entries that outlive it, and what makes them let go of it.

    Torch's entries know their backend as long as the function they belong to exists, deleted ones as well.  Before
    torch 2.9 they own no reference to it (``torch/csrc/dynamo/cache_entry.h``) and compare with whatever stands in its
    place; torch keeps the backends of ``torch.compile`` in ``cached_backends`` for that reason, but not a forced one.
    """
    from torch._dynamo import eval_frame

    held = [backend]

    def compiled_for_debugging(gm: Any, example_inputs: Any) -> Any:
        return held[0](gm, example_inputs) if held else gm.forward

    eval_frame.cached_backends.setdefault(id(compiled_for_debugging), compiled_for_debugging)
    return compiled_for_debugging, held.clear


@contextlib.contextmanager
def no_caches() -> Iterator[None]:
    """While the block lasts, Inductor and AOTAutograd read and write no caches."""
    import torch._functorch.config as functorch_config
    import torch._inductor.config as inductor_config

    with contextlib.ExitStack() as stack:
        for config, names in (
            (functorch_config, ("enable_autograd_cache", "enable_remote_autograd_cache")),
            (inductor_config, ("fx_graph_cache", "fx_graph_remote_cache")),
        ):
            known = {name: False for name in names if hasattr(config, name)}
            stack.enter_context(config.patch(known))
        yield


def drop_entries(code: types.CodeType, backend: Any, before: frozenset[str]) -> None:
    """Take the entries that ``backend`` compiled for ``code`` out of torch's cache; where torch cannot, they stay.

    Before torch 2.9 an entry does not say its backend: it is ours then if it was not there ``before`` (compile ids).

    They cost nothing then but a place: torch never runs them for another backend.  An entry taken out stays in torch's
    list as a deleted one; an object of ours that no frame holds keeps it from counting towards ``recompile_limit``
    (``_dynamo/cache_size.py``).
    """
    try:
        from torch._C._dynamo.eval_frame import _debug_get_cache_entry_list
        from torch._dynamo.guards import DeletedGuardManagerWrapper
    except ImportError:
        return
    for entry in _debug_get_cache_entry_list(code):
        if not hasattr(entry, "backend"):
            if str(entry.compile_id) in before:
                continue
        elif entry.backend is not backend and entry.backend != backend:
            continue
        state = getattr(entry.guard_manager, "extra_state", None)
        try:
            if state is not None:
                deleted = DeletedGuardManagerWrapper("depyf.debug() has ended")
                deleted.id_matched_objs = {"depyf": weakref.ref(drop_entries)}
                state.invalidate(entry, deleted)
        except Exception as error:
            say(f"depyf: a cache entry of {code.co_name} stays: {problem(error)}")
