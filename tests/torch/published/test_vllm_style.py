"""depyf as serving engines use it: a bytecode hook of their own, contexts entered by hand, code exchanged by hand.

Each piece stands for a generation of vLLM (and of the engines that took its compilation module over): the global
context manager that is left while a compiled graph runs, the one in a generator with clean-up after exceptions, the
dispatcher that exchanges ``forward.__code__``, the wrapper without guards.
"""

from __future__ import annotations

import contextlib
import glob
import json
import re
import sys
import threading
import types
from pathlib import Path
from typing import Any

import pytest
import torch
from dumps import qualified

import depyf
from depyf.run.places.two_places import lines_in_dump
from depyf.sources.live.processes.ranks import rank_directory

pytestmark = pytest.mark.torch


class Engine:
    """A module-global context manager, started before a model's first call and ended by its backend."""

    def __init__(self, folder: Path, end_when: str) -> None:
        self.folder, self.end_when = folder, end_when
        self.context: Any = None

    def start(self) -> None:
        self.context = depyf.prepare_debug(str(self.folder))
        self.context.__enter__()

    def end(self) -> None:
        if self.context is not None:
            self.context.__exit__(None, None, None)
            self.context = None

    def backend(self, graph: torch.fx.GraphModule, examples: list[Any]) -> Any:
        if self.end_when == "compiling":
            self.end()

        def run(*args: Any) -> Any:
            if self.end_when == "running":
                self.end()
            return graph(*args)

        return run


class Wrapped(torch.nn.Module):
    """Keeps the code Dynamo makes of ``forward`` and afterwards runs it in place of the original."""

    def __init__(self, engine: Engine, keep_in: Path | None = None) -> None:
        super().__init__()
        self.engine, self.keep_in = engine, keep_in
        self.scale = torch.nn.Parameter(torch.full((4,), 3.0))
        self.codes: list[types.CodeType] = []
        self.original = type(self).forward.__code__
        self.compiled = torch.compile(self.forward, fullgraph=True, backend=engine.backend)
        self.handle = torch._dynamo.convert_frame.register_bytecode_hook(self.hook)
        self.sources: list[str] = []

    def hook(self, old: types.CodeType, new: types.CodeType) -> None:
        if old is not self.original:
            return
        frame: Any = sys._getframe()
        while frame.f_back is not None:
            frame = frame.f_back
            if frame.f_code.co_name == "_compile" and frame.f_code.co_filename.endswith("convert_frame.py"):
                break
        compiled = frame.f_locals["frame"]
        assert compiled.f_code == old
        if compiled.f_locals["self"] is not self:
            return
        self.codes.append(new)
        self.sources.append(depyf.decompile(new))

    def __call__(self, *args: Any) -> Any:
        if not self.codes:
            self.engine.start()
            return self.compiled(*args)
        type(self).forward.__code__ = self.codes[-1]
        try:
            return self.forward(*args)
        finally:
            type(self).forward.__code__ = self.original


class Plain(Wrapped):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x * self.scale).relu() + 1


class Unpacking(Wrapped):
    """Keyword and several outputs, a closure cell (``__class__``)."""

    def forward(self, x: torch.Tensor, y: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        assert isinstance(self, __class__)
        y = x if y is None else y
        return x * self.scale, y - self.scale


@pytest.fixture
def models():
    made: list[Wrapped] = []
    yield made
    for model in made:
        model.handle.remove()


@pytest.mark.parametrize("end_when", ["compiling", "running", "later"])
@pytest.mark.parametrize("kind", [Plain, Unpacking])
def test_global_context_manager(end_when, kind, models, tmp_path):
    """v0.6 to v0.11: left from within the backend or the compiled graph, while the transformed code is running."""
    engine = Engine(tmp_path, end_when)
    model = kind(engine)
    models.append(model)
    x = torch.arange(4.0) - 1
    with torch.no_grad():
        want = torch.nn.Module.__call__(model, x)
        got = model(x)
        engine.end()
        again = [model(x), model(x + 1)]
    assert torch.equal(torch.stack(flat(want)), torch.stack(flat(got)))
    assert torch.equal(torch.stack(flat(want)), torch.stack(flat(again[0])))
    assert len(model.codes) == 1, "the exchanged code runs, nothing is compiled again"
    assert "def forward(self, x" in model.sources[0] and "__compiled_fn" in model.sources[0]
    assert type(model).forward.__code__ is model.original
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["notes"] == []
    assert any(item["kind"] == "graph" for item in manifest["files"])
    if end_when != "compiling":
        assert glob.glob(str(tmp_path / "__transformed_code*for_forward.py"))


def flat(value: Any) -> list[torch.Tensor]:
    return list(value) if isinstance(value, tuple) else [value]


@pytest.mark.parametrize("hook_first", [True, False])
def test_order_of_hooks(hook_first, models, tmp_path):
    """The engine's hook sees Dynamo's code or ours, whichever hook was there first; both decompile to the same text."""
    engine = Engine(tmp_path, "later")
    if hook_first:
        model = Plain(engine)
        engine.start()
    else:
        engine.start()
        model = Plain(engine)
    models.append(model)
    model.engine = types.SimpleNamespace(start=lambda: None)
    x = torch.ones(4)
    with torch.no_grad():
        assert torch.equal(model(x), torch.full((4,), 4.0))
        engine.end()
        assert torch.equal(model(x), torch.full((4,), 4.0))
    ours = lines_in_dump(model.codes[0])
    assert ours is None or ours.filename.startswith(str(tmp_path))
    assert (ours is not None) is (not hook_first), "hooks run in the order in which they were registered"
    compile(model.sources[0], "transformed_code.py", "exec")


class Breaking(torch.nn.Module):
    """Side effects, containers, graph breaks, a closure: what Dynamo needs fresh lists, temporaries and cells for."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(4))
        self.count = torch.zeros(1)

    def forward(self, x: torch.Tensor, items: list[Any], y: torch.Tensor | None = None) -> Any:
        self.count = self.count + 1
        rows = [x]
        rows.append(x * self.weight)
        items.append(rows[1])
        print(end="")
        y = x if y is None else y
        total = [*rows, x + 1, *items]
        print(end="")
        for row in rows:
            total.append(row.sin() + y)
        scale = lambda value: value * self.count + len(total)
        return scale(x), {"rows": rows, "total": [y, *total]}


_INVENTED = re.compile(r"__compiled_fn_\d+\w*")


def shown(text: str) -> list[str]:
    """The lines of a text but for comments and names that are made for one run, or one page."""
    lines = [re.sub(r"(^|  )# .*$", "", line) for line in text.splitlines()]
    body = re.sub(r"__transformed_code_\w*?_for_(?=\w)", "", "\n".join(lines))
    return [line for line in _INVENTED.sub("__compiled_fn", body).splitlines() if line.strip()]


@pytest.mark.parametrize("hook_first", [True, False])
def test_the_text_is_that_of_the_dump(hook_first, tmp_path):
    """What an engine's own hook decompiles is what the pages say; where the hook is given our code, it reads as well."""
    seen: list[tuple[types.CodeType, str]] = []
    context = depyf.prepare_debug(str(tmp_path))
    if not hook_first:
        context.__enter__()
    handle = torch._dynamo.convert_frame.register_bytecode_hook(
        lambda old, new: seen.append((new, depyf.decompile(new)))
    )
    if hook_first:
        context.__enter__()
    try:
        torch._dynamo.reset()
        torch.compile(Breaking(), backend="eager")(torch.ones(4), [torch.ones(4)])
    finally:
        handle.remove()
        context.__exit__(None, None, None)
    pages = [path.read_text() for path in sorted(tmp_path.glob("__transformed_code_*.py"))]
    assert len(pages) == len(seen) > 2
    for (code, text), page in zip(seen, pages):
        alone = code.co_name == "<lambda>"  # on Python 3.15: where torch compiles no resume function that has one
        assert alone or shown(text) == shown(page) or not hook_first
        assert not any(part in text for part in ("__temp_", "[*[]]", ":="))
        assert depyf.decompile(code) == text == depyf.Decompiler(code).decompile()


def test_code_of_a_compiler_is_read_as_ever():
    """Names that Dynamo gives variables, in a program's own function."""
    source = (
        "def f(x, ___stack0):\n    graph_out_0 = g(x)\n    tmp_1 = [*graph_out_0, *___stack0]\n"
        "    if (tmp_2 := tmp_1[0]) is None:\n        del graph_out_0\n    return tmp_1, tmp_2\n"
    )
    space: dict[str, Any] = {}
    exec(compile(source, "<generated>", "exec", dont_inherit=True), space)
    assert depyf.decompile(space["f"]) == source
    torch.compile(space["f"], backend="eager")  # nothing is compiled yet
    assert depyf.decompile(space["f"].__code__) == source


def test_what_resume_functions_were_is_read_like_the_pages():
    """An engine that is given the code of a resume function as the original."""
    originals: list[str] = []

    def keep(old, new):
        if old.co_name != "<lambda>":  # torch compiles it alone on Python 3.15
            originals.append(depyf.decompile(old))

    handle = torch._dynamo.convert_frame.register_bytecode_hook(keep)
    try:
        torch._dynamo.reset()
        torch.compile(Breaking(), backend="eager")(torch.ones(4), [torch.ones(4)])
    finally:
        handle.remove()
    assert "self.count = self.count + 1" in originals[0]
    assert all("total.append(row.sin() + y)" in text and "__temp_" not in text for text in originals)


def test_a_second_model_starts_before_the_first_has_ended(models, tmp_path):
    """A draft model: the global is overwritten, so the first context can no longer be left."""
    engine = Engine(tmp_path, "later")
    first, second = Plain(engine), Unpacking(engine)
    models += [first, second]
    with torch.no_grad():
        first(torch.ones(4))
        second(torch.ones(4))
        engine.end()
        assert torch.equal(first(torch.ones(4)), torch.full((4,), 4.0))
        assert torch.equal(second(torch.ones(4))[0], torch.full((4,), 3.0))
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert {f["function"] for f in manifest["functions"]} >= {qualified(Plain.forward), qualified(Unpacking.forward)}
    with depyf.prepare_debug(tmp_path / "later"):
        pass


def test_a_context_that_can_still_be_left_is_not_ended_by_another(tmp_path):
    held = depyf.prepare_debug(tmp_path / "held")
    held.__enter__()
    try:
        with pytest.raises(depyf.DepyfError, match="already active"):
            depyf.prepare_debug(tmp_path / "other").__enter__()
        torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
    finally:
        held.__exit__(None, None, None)
    held.__exit__(None, None, None)
    assert (tmp_path / "held" / "full_code_for_lambda_0.py").exists()


def test_left_twice_and_out_of_order(tmp_path):
    """An old context manager's ``__exit__`` says nothing about the one that is active now."""
    old = depyf.prepare_debug(tmp_path / "old")
    old.__enter__()
    old.__exit__(None, None, None)
    with depyf.prepare_debug(tmp_path / "new"):
        old.__exit__(None, None, None)
        torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
    assert (tmp_path / "new" / "full_code_for_lambda_0.py").exists()


@contextlib.contextmanager
def monitored(folder: Path):
    """v0.12 on: a generator; the context is left with ``None`` three times, also after an exception."""
    context = depyf.prepare_debug(folder.as_posix())
    context.__enter__()
    try:
        yield
    finally:
        context.__exit__(None, None, None)


class NoGuards(torch.nn.Module):
    """Drops all guards, and then forbids recompilation."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(3, 2)
        self.first = True
        self.compiled = torch.compile(
            self.forward, fullgraph=True, dynamic=False, options={"guard_filter_fn": lambda x: [False for _ in x]},
            **options,
        )  # fmt: skip

    def __call__(self, *args: Any) -> Any:
        stance = contextlib.nullcontext() if self.first else torch.compiler.set_stance("fail_on_recompile")
        self.first = False
        with stance:
            return self.compiled(*args)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x).relu()


def keep(graph: torch.fx.GraphModule, examples: list[Any], **options: Any) -> Any:
    return graph.forward


def filters_guards() -> bool:
    from torch._dynamo.hooks import Hooks

    return "guard_filter_fn" in Hooks.__dataclass_fields__


NOT_FILTERED = "Inductor of torch 2.6 knows no option guard_filter_fn"


@pytest.mark.parametrize("backend", [keep, "inductor"])
def test_wrapper_without_guards(backend, tmp_path):
    if backend == "inductor" and not filters_guards():
        pytest.skip(NOT_FILTERED)
    model = NoGuards(backend=backend)
    x = torch.randn(5, 3)
    with torch.no_grad():
        want = model.inner(x).relu()
        with monitored(tmp_path):
            assert torch.allclose(model(x), want)
        assert torch.allclose(model(x), want)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    (transformed,) = [item for item in manifest["files"] if item["kind"] == "transformed_code"]
    assert transformed["substituted"], transformed["reason"]
    assert (tmp_path / "full_code_for_forward_0.py").exists()


def test_exception_while_compiling(tmp_path):
    """The engine's clean-up runs, the exception is the program's, and the next context works."""

    def broken(graph: torch.fx.GraphModule, examples: list[Any]) -> Any:
        raise RuntimeError("the backend gave up")

    with pytest.raises(Exception, match="the backend gave up"), monitored(tmp_path / "a"):
        torch.compile(lambda x: x + 1, backend=broken)(torch.ones(2))
    assert (tmp_path / "a" / "manifest.json").exists()
    torch._dynamo.reset()
    with monitored(tmp_path / "b"):
        torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
    assert (tmp_path / "b" / "full_code_for_lambda_0.py").exists()


def test_entered_and_left_in_different_threads(tmp_path):
    context = depyf.prepare_debug(str(tmp_path))
    thread = threading.Thread(target=context.__enter__)
    thread.start()
    thread.join()
    torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
    thread = threading.Thread(target=context.__exit__, args=(None, None, None))
    thread.start()
    thread.join()
    assert (tmp_path / "full_code_for_lambda_0.py").exists()


def test_buffer_update_is_found_and_shown(tmp_path):
    """The engine looks for ``update`` in the code's names and puts the decompiled text in its error message."""
    seen: list[str] = []

    class Counts(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.count = torch.zeros(1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.count = self.count + 1
            return x + self.count

    def hook(old: types.CodeType, new: types.CodeType) -> None:
        if old is Counts.forward.__code__:
            seen.append(depyf.decompile(new))

    with depyf.prepare_debug(tmp_path):
        handle = torch._dynamo.convert_frame.register_bytecode_hook(hook)
        try:
            model = Counts()
            assert torch.equal(torch.compile(model, backend="eager", fullgraph=True)(torch.zeros(1)), torch.ones(1))
        finally:
            handle.remove()
    assert torch.equal(model.count, torch.ones(1))
    (text,) = seen
    assert "count" in text


def test_piecewise_backend(tmp_path):
    """Each piece of a split graph goes to Inductor on its own: several graphs under one compile id."""
    from torch._inductor.compile_fx import compile_fx

    def split(graph: torch.fx.GraphModule, examples: list[Any]) -> Any:
        first = compile_fx(torch.fx.symbolic_trace(lambda x: (x.sin(),)), examples)
        second = compile_fx(torch.fx.symbolic_trace(lambda x: (x + 1,)), examples)
        return lambda x: second(first(x)[0])

    with depyf.prepare_debug(tmp_path), torch.no_grad():
        out = torch.compile(lambda x: x.sin() + 1, backend=split)(torch.ones(3))
    assert torch.allclose(out, torch.ones(3).sin() + 1)
    files = [path.name for path in tmp_path.glob("__compiled_fn*Forward_graph*.py")]
    assert len(files) == 2
    scripts = depyf_gallery(tmp_path)
    assert len(scripts) == 1 and "Forward" not in scripts[0].stages, "a piece is not the captured graph"


def depyf_gallery(folder: Path) -> Any:
    from depyf.gallery import render_dump

    return render_dump(folder).scripts


def test_decompile_with_other_globals():
    """A code object says nothing about its globals; the text is the same for every function that runs it."""
    source = "def f(x):\n    return scale(x) + OFFSET\n"
    made = []
    for scale in (abs, len):
        namespace: dict[str, Any] = {"scale": scale, "OFFSET": 1}
        exec(compile(source, "<generated>", "exec", dont_inherit=True), namespace)
        made.append(namespace["f"])
    texts = {depyf.decompile(f) for f in made} | {depyf.decompile(f.__code__) for f in made}
    assert texts == {source}


def test_files_as_engines_look_for_them(tmp_path):
    """Globs and indices that test suites of engines use."""

    class Model(torch.nn.Module):
        def forward(self, x, cache=None):
            return x * 2 if cache is None else x + cache

    model = torch.compile(Model(), backend="aot_eager")
    with depyf.prepare_debug(str(tmp_path)), torch.no_grad():
        model(torch.ones(3))
        model(torch.ones(3), torch.ones(3))
    assert len(glob.glob(str(tmp_path / "__transformed_code*for_forward.py"))) == 2
    graphs = sorted(glob.glob(str(tmp_path / "__compiled_fn*Forward_graph*.py")))
    assert len(graphs) == 2
    assert re.search(r"__compiled_fn_(\d+)", graphs[0])


def test_rank_folders_that_the_program_has_named(tmp_path):
    """vLLM names ``rank_N`` itself, by its own ranks; there is no ``rank_N/rank_N``."""
    environment = {"RANK": "3", "WORLD_SIZE": "8"}
    assert rank_directory(tmp_path / "dump", environment) == tmp_path / "dump" / "rank_3"
    for name in ("rank_3", "rank_0", "rank_1_dp_2"):
        assert rank_directory(tmp_path / name, environment) == tmp_path / name
    assert rank_directory(tmp_path / "rank", environment) == tmp_path / "rank" / "rank_3"


def test_aot_compile(tmp_path):
    """``torch.compile(...).aot_compile``: no frame is intercepted, the compiled function is called by the engine."""
    if not filters_guards():
        pytest.skip(NOT_FILTERED)
    fn = torch.compile(lambda x: x.sin() + 1, backend="inductor", fullgraph=True,
                       options={"guard_filter_fn": lambda x: [False for _ in x]})  # fmt: skip
    if not hasattr(fn, "aot_compile"):
        pytest.skip("this torch has no aot_compile")
    with torch._dynamo.config.patch(enable_aot_compile=True), monitored(tmp_path), torch.no_grad():
        compiled = fn.aot_compile(((torch.ones(3),), {}))
        assert torch.allclose(compiled(torch.ones(3)), torch.ones(3).sin() + 1)
    assert (tmp_path / "manifest.json").exists()
    assert torch.allclose(compiled(torch.ones(3)), torch.ones(3).sin() + 1)


def test_graphs_that_the_backend_formats(tmp_path):
    """``depyf will hook lazy_format_graph_code``, vLLM's and SGLang's backends say, and call it for nothing else."""
    from torch.fx.passes.split_module import split_module

    def split_at_sine(graph: torch.fx.GraphModule, examples: list[Any]) -> Any:
        from torch._dynamo.utils import lazy_format_graph_code

        part = {node: int("sin" in str(node.target)) for node in graph.graph.nodes}
        parts = split_module(graph, None, lambda node: part[node])
        lazy_format_graph_code("before split", graph)
        text = str(lazy_format_graph_code("after split", parts))
        assert "===== after split =====" in text
        return parts.forward

    import torch._dynamo.utils as utils

    before = utils.lazy_format_graph_code
    with depyf.prepare_debug(tmp_path), torch.no_grad():
        out = torch.compile(lambda x: (x * 2).sin(), backend=split_at_sine)(torch.ones(3))
    assert utils.lazy_format_graph_code is before
    assert torch.allclose(out, torch.full((3,), 2.0).sin())
    whole = (tmp_path / "__compiled_fn_0_0.before_split.0.py").read_text()
    parts = (tmp_path / "__compiled_fn_0_0.after_split.0.py").read_text()
    assert "self.submod_" in parts and "self.submod_" not in whole and ".sin()" in whole
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert {"before_split", "after_split"} <= {item.get("stage") for item in manifest["files"]}
    assert manifest["notes"] == []
    index = (tmp_path / "index.md").read_text()
    assert "before split" in index and "after split" in index


@contextlib.contextmanager
def without_global_guards():
    """As engines compile: the guard manager's methods for global state do nothing meanwhile."""
    manager = torch._C._dynamo.guards.GuardManager
    names = ("add_global_state_guard", "add_torch_function_mode_stack_guard")
    before = {name: getattr(manager, name) for name in names}
    try:
        for name in names:
            setattr(manager, name, lambda self, *args, **kwargs: None)
        yield
    finally:
        for name, method in before.items():
            setattr(manager, name, method)


@pytest.mark.parametrize("kept", ["", "SHAPE_ENV"])
def test_guards_of_shapes_or_none(kept, tmp_path, monkeypatch):
    """The compiled function forwards its arguments; the engine empties Dynamo's cache by hand afterwards."""
    monkeypatch.setenv("DEPYF_NO_PAUSE", "1")

    def check_and_forward(scale: float, *args: Any, **kwargs: Any) -> torch.Tensor:
        return (args[0] * scale).relu() * args[0].shape[0]

    options = {"guard_filter_fn": lambda x: [entry.guard_type == kept for entry in x]}
    fn = torch.compile(check_and_forward, fullgraph=True, dynamic=False, backend=keep, options=options)
    x = torch.randn(5, 3)
    torch._dynamo.mark_dynamic(x, 0)
    with torch.no_grad():
        with monitored(tmp_path), without_global_guards():
            assert torch.equal(fn(2.0, x), (x * 2).relu() * 5)
        with torch.compiler.set_stance("fail_on_recompile"):
            assert fn(2.0, torch.ones(9, 3)).sum() == 9 * 3 * 2 * 9
        torch._dynamo.eval_frame.remove_from_cache(check_and_forward.__code__)
        with depyf.debug():
            assert fn(2.0, torch.ones(2, 3)).sum() == 24
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["notes"] == []
    (transformed,) = [item for item in manifest["files"] if item["kind"] == "transformed_code"]
    assert transformed["substituted"], transformed["reason"]
