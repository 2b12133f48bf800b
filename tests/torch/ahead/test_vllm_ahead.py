"""depyf as vLLM 0.33 drives it: the calls of its decorator, wrapper, monitor and backend, in their order, written anew and small.

vLLM's file is named where a call of it is. What matters here: the class gets a second base, all guards are dropped, the
first call compiles ahead of time and saves, a later process loads, asks no guard and gives the graph to the backend again.
The context is entered by hand and left by hand, twice on one path: once around a try to load, once around compiling.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import pickle
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import torch
from torch._dynamo.symbolic_convert import InliningInstructionTranslator as Inlining

import depyf
from depyf.run.made import Made
from depyf.run.store.loading import load

aot = pytest.importorskip("torch._dynamo.aot_compile")
pytestmark = pytest.mark.torch
SCALE = 2.0


class Engine:
    """What vLLM's configuration says, and ``monitor.py``."""

    def __init__(self, folder: Path, hook: bool = False) -> None:
        self.dump, self.hook = folder / "dump" / "rank_0_dp_0", hook
        self.cache = folder / "torch_compile_cache" / "torch_aot_compile" / "0a1b" / "rank_0_0"
        self.changed = False
        """The source differs from that of what was saved."""
        self.traced: set[str] = set()
        self.handles: list[Any] = []

    @contextlib.contextmanager
    def monitored(self) -> Iterator[None]:
        self.dump.mkdir(parents=True, exist_ok=True)
        context = depyf.prepare_debug(self.dump.as_posix())
        context.__enter__()
        try:
            yield
        finally:
            context.__exit__(None, None, None)


class StoredGraph(aot.SerializableCallable):
    """``caching.py``: what the backend returns; stored as the graph alone."""

    def __init__(self, graph: torch.fx.GraphModule, call: Any, mode: Any = None) -> None:
        self.graph, self.call, self.mode = graph, call, mode

    def __call__(self, *args: Any) -> Any:
        return self.call(*args)

    @classmethod
    def serialize_compile_artifacts(cls, fn: Any) -> bytes:
        from torch.fx._graph_pickler import GraphPickler, Options

        for node in fn.graph.graph.nodes:
            for name in ("source_fn_stack", "nn_module_stack"):
                node.meta.pop(name, None)
        return pickle.dumps({"graph": GraphPickler.dumps(fn.graph, Options(ops_filter=None))})

    @classmethod
    def deserialize_compile_artifacts(cls, data: bytes) -> Any:
        from torch._subclasses import FakeTensorMode
        from torch.fx._graph_pickler import GraphPickler
        from torch.fx.experimental.symbolic_shapes import ShapeEnv

        mode = FakeTensorMode(shape_env=ShapeEnv())
        graph = GraphPickler.loads(pickle.loads(data)["graph"], mode)
        graph.recompile()
        return cls(graph, None, mode)

    def finalize_loading(self) -> None:
        """The backend works again, under no compile id."""
        from torch._guards import TracingContext, tracing

        with tracing(TracingContext(self.mode)):
            self.call = backend(self.graph, []).call

    @property
    def co_name(self) -> str:
        return "StoredGraph"


def backend(graph: torch.fx.GraphModule, examples: list[Any]) -> Any:
    """``backends.py``: the graphs are given to torch's formatter for depyf alone."""
    from torch._dynamo.utils import lazy_format_graph_code

    lazy_format_graph_code("before split", graph)
    lazy_format_graph_code("after split", graph)
    return StoredGraph(graph, graph.forward)


class WithoutGuards:
    """``wrapper.py``."""

    def prepare(self) -> None:
        self.kept = None
        options = {"guard_filter_fn": torch.compiler.skip_all_guards_unsafe}
        with torch._dynamo.config.patch(enable_aot_compile=True):
            self.callable = torch.compile(self.forward, fullgraph=True, dynamic=False, backend=backend, options=options)
        if self.engine.hook:
            self.engine.handles.append(torch._dynamo.convert_frame.register_bytecode_hook(self.bytecode_hook))

    def original(self) -> types.CodeType:
        return type(self).forward.__code__

    def aot_compile(self, *args: Any, **kwargs: Any) -> Any:
        return self.callable.aot_compile((args, kwargs))

    def call_compiled(self, *args: Any) -> Any:
        if not self.kept:
            torch._dynamo.eval_frame.remove_from_cache(self.original())
            return self.callable(*args)
        original, type(self).forward.__code__ = self.original(), self.kept
        try:
            return self.forward(*args)
        finally:
            type(self).forward.__code__ = original

    def bytecode_hook(self, old: types.CodeType, new: types.CodeType) -> None:
        if old is not self.original():
            return
        frame: Any = sys._getframe()
        while frame.f_back is not None:
            frame = frame.f_back
            if frame.f_code.co_name == "_compile" and frame.f_code.co_filename.endswith("convert_frame.py"):
                break
        if frame.f_locals["frame"].f_locals["self"] is not self:
            return
        self.kept = new
        file = self.engine.dump / "transformed_code.py"
        if not file.exists():
            file.write_text(depyf.decompile(new))


def try_load(model: Any, file: Path) -> Any:
    """``decorators.py``: the context is entered before it is known whether there is a file."""
    try:
        with model.engine.monitored():
            with open(file, "rb") as stored:
                found = torch.compiler.load_compiled_function(stored, f_globals=model.forward.__globals__)
            if found.source_info() is None or model.engine.changed:
                raise RuntimeError("Source code has changed since the last compilation.")
            found.disable_guard_check()
            found._artifacts.compiled_fn.finalize_loading()
        return found
    except Exception:
        return None


def compiled_class(cls: type) -> type:
    """``decorators.py``: the class gets another base and another ``__call__``."""
    cls.__bases__ = (*cls.__bases__, WithoutGuards)
    begin = cls.__init__

    def __init__(self: Any, engine: Engine) -> None:
        begin(self)
        self.engine, self.ahead, self.compiled = engine, None, False
        self.prepare()

    def __call__(self: Any, *args: Any) -> Any:
        if torch.compiler.is_compiling():
            return self.forward(*args)
        if self.ahead is not None:
            return self.ahead(self, *args)
        engine, file = self.engine, self.engine.cache / "model"
        if not engine.hook:
            self.ahead = try_load(self, file)
        if self.ahead is not None:
            return self.ahead(self, *args)
        if self.compiled:
            return self.call_compiled(*args)
        torch._dynamo.mark_dynamic(args[0], 0)
        engine.traced.add(self.original().co_filename)
        inline = Inlining.inline_call_

        def noted(translator: Any) -> Any:
            engine.traced.add(translator.f_code.co_filename)
            return inline(translator)

        with (
            patch.object(Inlining, "inline_call_", noted),
            torch._dynamo.config.patch(enable_cpp_symbolic_shape_guards=False),
            torch._inductor.config.patch(assume_32bit_indexing=True),
        ):
            if engine.hook:
                with engine.monitored():
                    result = self.call_compiled(*args)
            else:
                with engine.monitored():
                    self.ahead = self.aot_compile(*args)
                    engine.cache.mkdir(parents=True, exist_ok=True)
                    self.ahead.save_compiled_function(f"{file}.tmp")
                    os.replace(f"{file}.tmp", file)
                result = self.ahead(self, *args)
        self.compiled = True
        return result

    cls.__init__, cls.__call__ = __init__, __call__
    return cls


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full((3,), 3.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x * self.weight).relu()


@compiled_class
class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = torch.nn.ModuleList([Block(), Block()])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x) * SCALE
        return x


@pytest.fixture
def engine_in(tmp_path):
    made: list[Engine] = []

    def make(name: str = "engine", **options: Any) -> Engine:
        torch._dynamo.reset()
        made.append(Engine(tmp_path / name, **options))
        return made[-1]

    with torch.no_grad():
        yield make
    for engine in made:
        for handle in engine.handles:
            handle.remove()


def in_python(model: Any, x: torch.Tensor) -> torch.Tensor:
    return type(model).forward(model, x)


def notes(engine: Engine) -> list[str]:
    return json.loads((engine.dump / "manifest.json").read_text())["notes"]


def test_the_first_call_compiles_ahead_of_time(engine_in):
    engine = engine_in()
    model, x = Model(engine), torch.ones(4, 3)
    assert torch.equal(model(x), in_python(model, x))
    assert torch.equal(model(torch.ones(7, 3)), in_python(model, torch.ones(7, 3)))
    (function,) = load(engine.dump).functions
    (entry,) = function.entries
    assert (function.code.qualname, entry.made, entry.key.text) == ("Model.forward", Made.AHEAD, "0/0")
    assert {verdict.status for verdict in entry.transformed.verdicts} <= {"IDENTICAL", "EQUIVALENT"}
    assert (engine.dump / "__compiled_fn_0_0.before_split.0.py").exists() and notes(engine) == []


def test_the_guards_that_it_drops_are_told(engine_in):
    engine = engine_in()
    model = Model(engine)
    model(torch.ones(4, 3))
    index = (engine.dump / "index.md").read_text()
    assert "left out (torch.compiler.skip_all_guards_unsafe)" in index
    assert "`SCALE == 2.0` at " in index and "runs all the same: `SCALE = 3.0; compiled(self, x)`" in index
    assert "compiled(self, x.to(torch.float64))" in (next(engine.dump.glob("full_code_for_forward*.py"))).read_text()


def test_a_global_that_is_rebound_is_the_old_one(engine_in, monkeypatch):
    engine = engine_in()
    model, x = Model(engine), torch.ones(4, 3)
    model(x)
    assert depyf.compare(model.ahead, model, x).python
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert not depyf.compare(model.ahead, model, x).python


def test_a_later_process_loads_and_asks_no_guard(engine_in):
    first = engine_in()
    Model(first)(torch.ones(4, 3))
    gc.collect()  # another process knows nothing of the first
    engine = engine_in("later")
    engine.cache = first.cache
    model, x = Model(engine), torch.ones(5, 3)
    assert torch.equal(model(x), in_python(model, x))
    functions = {function.code.qualname: function for function in load(engine.dump).functions}
    (entry,) = functions["Model.forward"].entries
    assert entry.made is Made.AHEAD_LOADED and notes(engine) == []
    assert "loaded0/0: loaded" in (engine.dump / "index.md").read_text()
    assert depyf.compare(model.ahead, model, x).python


def test_the_graphs_of_a_function_that_was_loaded_are_its_own(engine_in):
    first = engine_in()
    Model(first)(torch.ones(4, 3))
    gc.collect()
    engine = engine_in("later")
    engine.cache = first.cache
    Model(engine)(torch.ones(5, 3))
    assert {path.name for path in engine.dump.glob("*_split.0.py")} == {
        "__compiled_fn_loaded0_0.before_split.0.py",
        "__compiled_fn_loaded0_0.after_split.0.py",
    }


@pytest.mark.parametrize("saved", (False, True))
def test_entered_twice_on_one_path_where_nothing_loads(saved, engine_in):
    """The first context finds no file, or a function that is out of date; the second one records what is compiled."""
    engine = engine_in()
    if saved:
        Model(engine)(torch.ones(4, 3))
        gc.collect()
        torch._dynamo.reset()
        engine.changed = True
    model, x = Model(engine), torch.ones(5, 3)
    assert torch.equal(model(x), in_python(model, x))
    made = [entry.made for function in load(engine.dump).functions for entry in function.entries]
    assert Made.AHEAD in made and notes(engine) == []
    index = (engine.dump / "index.md").read_text()
    assert "Nothing was compiled" not in index and "othing was compiled" not in index


def test_its_bytecode_hook_exchanges_the_code(engine_in):
    engine = engine_in(hook=True)
    model, x = Model(engine), torch.ones(4, 3)
    assert torch.equal(model(x), in_python(model, x))
    assert torch.equal(model(torch.ones(7, 3)), in_python(model, torch.ones(7, 3)))
    compile((engine.dump / "transformed_code.py").read_text(), "transformed_code.py", "exec")
    (function,) = load(engine.dump).functions
    assert function.entries[0].made is Made.CALL and notes(engine) == []


def test_what_it_saved_opens_without_being_loaded(engine_in):
    from depyf.actions.opened.open_file import open_saved

    engine = engine_in()
    Model(engine)(torch.ones(4, 3))
    found = open_saved(engine.cache / "model")
    assert any("def forward(self, x" in text for name, text in found.files.items() if name.endswith(".py"))
    assert found.unproven == ()
