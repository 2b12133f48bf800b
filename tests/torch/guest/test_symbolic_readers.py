"""Whatever depyf looks at while a program is traced, it asks torch's shape environment nothing: no guard, no assertion, no symbol.

``READERS`` has a row for each function that looks at a tensor or a symbolic number; a function that is not there fails
``test_every_reader_is_here``.
"""

import ast
import contextlib
import json
import pathlib
import types

import pytest
import torch
from torch._dynamo.source import ConstantSource
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext

import depyf
from depyf.actions.asking import inside
from depyf.actions.claims import graph_terms
from depyf.actions.comparing.graphs import wrong_fakes
from depyf.actions.doctor import returned
from depyf.actions.edit.edited import edit_trial
from depyf.sources.live import pure_access, pure_tensors, pure_text
from depyf.sources.live.ahead import one_graph
from depyf.sources.live.calls import pinning
from depyf.sources.live.events import graph_reading
from depyf.sources.live.events.call_values import CallValues
from depyf.sources.live.guards import check_functions as guard_checks
from depyf.sources.live.guards import guard_order
from depyf.sources.live.inputs import input_recorder, storage_copies
from depyf.sources.live.pure_access import UnreadableError
from depyf.sources.live.unguarded import unguarded_reads
from depyf.sources.live.unguarded.called_frames import CalledFrame

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]

SOURCES = pathlib.Path(depyf.__file__).parent
ROOMS = (
    "sources",
    "actions/asking",
    "actions/claims",
    "actions/comparing",
    "actions/debugger",
    "actions/doctor",
    "actions/edit",
)
"""What runs in the process that compiles; the other actions read dumps, and what they carry runs elsewhere."""
LAYOUT = ("size", "stride", "storage_offset", "shape", "numel", "nbytes")
"""What a tensor is asked for its layout by."""


def node_of(value):
    """An input of a graph that Dynamo has made of ``value``."""
    graph = torch.fx.Graph()
    node = graph.placeholder("x")
    node.meta["example_value"] = value
    node.meta["grapharg"] = types.SimpleNamespace(_example=value, pass_arg_as_tensor=True, source=None)
    graph.output(node)
    return node


def module_with(value):
    module = torch.nn.Module()
    module.kept = value
    return module


def held_by(value):
    """A graph that holds ``value`` as a constant."""
    graph = torch.fx.Graph()
    graph.output(graph.get_attr("kept"))
    return torch.fx.GraphModule(module_with(value), graph)


def variables_of(value):
    known = CallValues({"x": value})
    sources = ("x", "x.shape", "x.size()", "x.size()[0]", "x.size()[0] + 1", "len(x)", "x.storage_offset()", "x[0]")
    return [getattr(known, look)(source) for look in ("shown", "roles") for source in sources]


def order_of(value):
    order = guard_order.GuardOrder({"L": {"x": value}, "G": {}})
    asked = ("L['x'].size()[0] == 3", "L['x'].storage_offset() == 0", "check_tensor(L['x'], 'Tensor', None)")
    order.failed("type_is(L['x'], 'int')")
    return [order.may_ask(guard) for guard in asked]


def in_containers(look):
    return lambda value: [look(value), look([value]), look((1, value)), look({"k": value}), look({1: (value, value)})]


def recorded(value):
    recorder = input_recorder.InputRecorder(types.SimpleNamespace(write=lambda *_: True), 1 << 20)
    node = node_of(value)
    facts = graph_reading.GraphFacts(inputs=graph_reading._inputs([node], {}))
    return recorder._write("x", facts, input_recorder._given(types.SimpleNamespace(graph=node.graph)), {"c": value})


def different(value):
    return guard_checks.tensor_differences(
        value, "Tensor", torch.float32, size=[5, 3], stride=[6, None], requires_grad=False, device_index=None
    )


def compares(one, other):
    return one is other.kept


def after_an_edit(value):
    graph = torch.fx.Graph()
    given, gradient = graph.placeholder("x"), graph.placeholder("tangents_1")
    graph.output(graph.call_function(torch.add, (given, gradient)))
    module = torch.fx.GraphModule({}, graph)
    return edit_trial.EditedNodes(module, module, {}, (torch.ones(1), value)).first((torch.ones(1),))


ONE_GRAPH = one_graph.OneGraph(
    "eager", 1, (), ((3, None),), ("torch.int8",), ("cuda:0",), ({1: (5, 6)},), None, (), ()
)  # fmt: skip
READERS = {
    "pure_tensors.is_tensor": pure_tensors.is_tensor,
    "pure_tensors.is_parameter": pure_tensors.is_parameter,
    "pure_tensors.tensor": pure_tensors.tensor,
    "pure_tensors.TensorView.strided": lambda value: pure_tensors.tensor(value).strided,
    "pure_tensors.TensorView.symbolic": lambda value: pure_tensors.tensor(value).symbolic,
    "pure_tensors.is_fake": pure_tensors.is_fake,
    "pure_tensors.tells_sizes": lambda value: pure_tensors.tells_sizes(type(value)),
    "pure_tensors.storage": pure_tensors.storage,
    "pure_tensors.is_symbolic": pure_tensors.is_symbolic,
    "pure_tensors.symbolic_kind": lambda value: pure_tensors.is_symbolic(value) and pure_tensors.symbolic_kind(value),
    "pure_tensors.number": pure_tensors.number,
    "pure_tensors.symbol_expression": lambda value: pure_tensors.symbol_expression(pure_access.attribute(value, "node")),
    "pure_tensors.expression": pure_tensors.expression,
    "pure_tensors.symbol_of": pure_tensors.symbol_of,
    "pure_tensors.referent": lambda value: pure_tensors.referent(types.SimpleNamespace(ref=value)),
    "pure_tensors.module_attribute": lambda value: pure_tensors.module_attribute(module_with(value), "kept"),
    "pure_tensors.elements": lambda value: pure_tensors.elements(value, 100),
    "pure_tensors.extent": pure_tensors.extent,
    "pure_tensors.out_of_reach": lambda value: pure_tensors.out_of_reach().__enter__ and None,
    "pure_tensors.has_memory": pure_tensors.has_memory,
    "pure_tensors.span": pure_tensors.span,
    "pure_tensors.is_lazy": pure_tensors.is_lazy,
    "pure_tensors.memory": lambda value: pure_tensors.has_memory(value) and pure_tensors.memory(value, 0, 4),
    "pure_text.describe": in_containers(pure_text.describe),
    "pure_text.shown": in_containers(pure_text.shown),
    "pure_text.counted": in_containers(pure_text.counted),
    "pure_text._tensor": lambda value: pure_text._tensor(value),
    "pure_access.attribute": lambda value: [pure_access.attribute(value, n) for n in ("shape", "node", "_is_param", "a")],
    "pure_access.own_attributes": pure_access.own_attributes,
    "pure_access.equal": lambda value: [pure_access.equal(value, o) for o in (value, 0, 3, None, [value])]
    + [pure_access.equal([value], [0]), pure_access.equal({"k": value}, {"k": 0}), pure_access.equal(0, value)],
    "pure_access.item": lambda value: [pure_access.item([value], 0), pure_access.item({"k": value}, "k")],
    "pure_access.literal": pure_access.literal,
    "pure_access.length": in_containers(pure_access.length),
    "pure_access.is_a": lambda value: pure_access.is_a(value, int),
    "inside._objects": lambda value: list(
        inside._objects(types.SimpleNamespace(function=READERS_FUNCTION), {"x": value, "m": module_with(value)}, [])
    ),
    "call_values.CallValues._value": variables_of,
    "call_values.CallValues.ask": lambda value: CallValues().ask("is_view", value),
    "graph_terms._parts": lambda value: list(graph_terms._parts([value, (value,)])),
    "graph_reading._inputs": lambda value: graph_reading._inputs([node_of(value), node_of(value)], {}),
    "graph_reading._input": lambda value: graph_reading._input(node_of(value), {}),
    "graph_reading._as_given": lambda value: graph_reading._as_given(
        graph_reading.tensor_facts(torch.ones(5, 3), {}), node_of(value)
    ),
    "graph_reading._passed": lambda value: graph_reading._passed(
        node_of(value), graph_reading.tensor_facts(value, {}), "input"
    ),
    "graph_reading._number_in": lambda value: graph_reading._number_in(node_of(value)),
    "graph_reading.tensor_facts": lambda value: graph_reading.tensor_facts(value, {}),
    "graph_reading._number": lambda value: graph_reading._number(value, {}),
    "graph_reading._constants": lambda value: graph_reading._constants(held_by(value)),
    "graph_reading._constant": lambda value: graph_reading._constant("kept", value),
    "check_functions.tensor_differences": different,
    "check_functions._share": lambda value: guard_checks.check_overlapping([value, value], [torch.ones(2), value]),
    "pure_tensors.is_inference": pure_tensors.is_inference,
    "pure_tensors.is_view": pure_tensors.is_view,
    "unguarded_reads._identity": lambda value: unguarded_reads.reads_of(
        CalledFrame(compares.__code__, globals(), "", {"one": value, "other": module_with(value)}),
        unguarded_reads.SourceTrees(),
    ),
    "pinning._unmarked": lambda value: pinning._unmarked(value, 5),
    "guard_order._harmless": order_of,
    "guard_order.has_symbols": guard_order.has_symbols,
    "input_recorder.InputRecorder._write": recorded,
    "input_recorder._given": lambda value: input_recorder._given(types.SimpleNamespace(graph=node_of(value).graph)),
    "input_recorder._constant": lambda value: input_recorder._constant(module_with(value), "kept"),
    "storage_copies.copies_of": lambda value: storage_copies.copies_of({"x": value, "y": value}, 1 << 20, 1 << 20),
    "storage_copies.unreadable": storage_copies.unreadable,
    "storage_copies._view": lambda value: storage_copies._view("x", value),
    "edit_trial.EditedNodes.first": after_an_edit,
    "one_graph._sizes_of": lambda value: pure_tensors.is_tensor(value) and one_graph._sizes_of(value),
    "one_graph._of_tensor": lambda value: pure_tensors.is_tensor(value)
    and list(one_graph._of_tensor("x", value, (3, None), "torch.int8", "cuda:0")),
    "one_graph.OneGraph._of_inputs": lambda value: list(ONE_GRAPH.refusals((value,), {})),
    "wrong_fakes._apart": lambda value: wrong_fakes._apart(torch.ones(2), value),
    "wrong_fakes._shown": lambda value: pure_tensors.is_tensor(value) and wrong_fakes._shown(value),
    "returned._digest": lambda value: returned.leaves_of([value, {"k": value}]),
}  # fmt: skip

READERS_FUNCTION = node_of

OF_RUNS = {
    "value_traces._shapes", "compiled_graph.Compiled._gradients", "images.Images._tensor", "reference.is_rounding", "reference.size_of", "reference.conversions_in", "tensors.strides_that_count", "graph_effects.of_strides",
    "against_python._with_own_history", "images.largest", "images.Image.text", "images.Images.of", "images._of_tensors", "images._plain",
    "kept_tensors.shown_in", "reference.doubled", "undeclared_writes._shared", "undeclared_writes._has_memory", "kept_tensors.KeptStorage.__init__", "kept_tensors.KeptStorage.changed",
    "kept_tensors.KeptStorage.write", "kept_tensors._layout", "kept_tensors.own_leaf", "reached.ReachedState._array",
    "reached.ReachedState._look", "call_outcome.may_be_rounding", "compiled_graph._has_memory", "images._numbers_apart",
    "two_backends.TwoBackends._first_apart",
    "tensors.Statistics.__str__", "tensors.statistics", "tensors.difference", "tensors.gradients_of",
    "nonfinite.WatchedValue.__str__", "nonfinite._watched_value",
}  # fmt: skip
"""They look at results of a run that depyf itself makes, or that has values: no trace is going on, and nothing is symbolic."""
OF_PLAIN_DATA = {
    "fake_values._described", "input_recorder._input", "input_recorder._add_generators", "storage_copies._View.dense",
    "storage_copies._add", "libdevice._applied", "nested_pickles.NestedPickles.__init__", "saved_parts._Visit.__init__",
    "log_lines.LogLines._whole", "log_lines._Gathered.add", "logged_inputs._names", "logged_inputs._tensor",
}  # fmt: skip
"""They look at records, at arrays, or make text of a tensor."""
OF_NO_VALUE = {"pure_access.classes_of", "pure_access.inherits", "pure_access.class_name", "pure_access.short_name",
               "pure_access.class_module", "pure_access.full_name", "pure_access.in_classes", "pure_access.cell_contents",
               "pure_access.untouched", "pure_access.as_torch_sees", "pure_text.short", "pure_text.module_name"}  # fmt: skip
"""They look at classes, cells and texts."""


def functions(tree, prefix=""):
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from functions(node, f"{prefix}{node.name}.")
        elif isinstance(node, (ast.If, ast.Try)):
            yield from functions(node, prefix)


def readers():
    """The functions in these rooms that look at a tensor or a symbolic number, and those that they look through."""
    for file in sorted([file for room in ROOMS for file in SOURCES.glob(f"{room}/**/*.py")]):
        tree = ast.parse(file.read_text())
        looks = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").endswith("pure_tensors")
            for alias in node.names
        }
        pure = file.stem in ("pure_tensors", "pure_text", "pure_access")
        for name, function in functions(tree):
            nodes = list(ast.walk(function))
            own = {node.arg for node in nodes if isinstance(node, ast.arg)}
            own |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
            through = any(isinstance(node, ast.Name) and node.id in looks - own for node in nodes)
            asks = any(isinstance(node, ast.Attribute) and node.attr in LAYOUT for node in nodes)
            if through or asks or (pure and not name.rpartition(".")[2].startswith("_")):
                yield f"{file.stem}.{name}"


def test_every_reader_is_here():
    known = {*READERS, *OF_RUNS, *OF_PLAIN_DATA, *OF_NO_VALUE}
    assert set(readers()) == known, "a row for each function that looks at a tensor"


class Symbols:
    """A shape environment, tensors and numbers of which it knows nothing, and everything that it was asked."""

    def __init__(self):
        self.env = ShapeEnv()
        self.mode = FakeTensorMode(shape_env=self.env)
        self.values = dict(self._made())

    def _free(self, name, hint):
        """An int of the program that may be anything: zero, one, negative."""
        source = ConstantSource(name)
        return self.env.create_unspecified_symint_and_symbol(hint, source, DimDynamic.DYNAMIC)

    def _made(self):
        base = torch.ones(60).as_strided((5, 3), (6, 2), 4)
        known = StatelessSymbolicContext(
            dynamic_sizes=[DimDynamic.DYNAMIC] * 2, dynamic_strides=[DimDynamic.DYNAMIC] * 2
        )
        yield "from a tensor", self.mode.from_tensor(base, symbolic_context=known)
        free = [self._free(f"n{place}", hint) for place, hint in enumerate((2, 3, 6, 2, 5))]
        gone = [self.env.create_unbacked_symint() for _ in range(5)]
        with self.mode:
            for name, (a, b, c, d, e) in (("free", free), ("unbacked", gone)):
                flat = torch.empty_strided((40,), (1,))
                yield f"{name} offset", flat.as_strided((2, 2), (4, 1), e)
                yield f"{name} strides", flat.as_strided((2, 2), (c, d), 0)
                yield f"{name} sizes", flat.as_strided((a, b), (4, 1), 0)
                yield f"{name} layout", flat.as_strided((a, b), (c, d), e + a)
                yield f"{name} number", a * b + 1
                yield f"{name} list", torch.Size([a, b])
        yield "unbacked float", self.env.create_unbacked_symfloat()
        yield "unbacked bool", self.env.create_unbacked_symbool()
        yield "free parameter", torch.nn.Parameter(torch.ones(2))

    def _counts(self):
        env = self.env
        names = ("guards", "deferred_runtime_asserts", "replacements", "divisible", "var_to_range", "pending_fresh_unbacked_symbols",
                 "axioms", "val_to_var", "source_to_symbol")  # fmt: skip
        return {
            **{name: len(found) for name in names if (found := getattr(env, name, None)) is not None},
            "asserts": sum(map(len, env.deferred_runtime_asserts.values())),
            "ranges": sorted(f"{symbol}: {known}" for symbol, known in env.var_to_range.items()),
            "version": (env._version_counter, getattr(env, "_replacements_version_counter", 0)),
        }

    @contextlib.contextmanager
    def unasked(self):
        """Inside, nothing is asked; the environment is afterwards as it was."""
        asked, before = [], self._counts()
        names = ("evaluate_expr", "evaluate_sym_node", "evaluate_guards_expression", "guard_or_defer_runtime_assert")
        for name in (name for name in names if hasattr(self.env, name)):
            setattr(self.env, name, self._noting(name, getattr(self.env, name), asked))
        try:
            yield
        finally:
            for name in names:
                vars(self.env).pop(name, None)
        assert asked == [] and self._counts() == before

    @staticmethod
    def _noting(name, own, asked):
        def ask(*args, **kwargs):
            asked.append((name, str(args[:1])))
            return own(*args, **kwargs)

        return ask


@pytest.fixture(scope="module")
def symbols():
    return Symbols()


@pytest.mark.parametrize("reader", READERS)
def test_a_reader_asks_nothing(symbols, reader):
    for value in symbols.values.values():
        with symbols.unasked(), contextlib.suppress(*refusals(reader, value)):
            READERS[reader](value)


def refusals(reader, value):
    """What a reader may raise for a value that it is not meant for."""
    return (UnreadableError, *(() if pure_tensors.is_tensor(value) else (AttributeError, TypeError)))


@pytest.mark.parametrize("reader", [name for name in READERS if not name.startswith("edit_trial")])
def test_a_reader_asks_nothing_in_a_trace(symbols, reader):
    """Inside of the fake mode, as while torch compiles; a trial of an edit runs the graphs, which is no reading."""
    with symbols.mode:
        test_a_reader_asks_nothing(symbols, reader)


def test_what_is_seen_of_a_free_offset(symbols):
    free, gone = (symbols.values[f"{name} offset"] for name in ("free", "unbacked"))
    facts = graph_reading.tensor_facts(free, {})
    assert facts.offset == 5 and facts.shape == (2, 2) and pure_tensors.span(free) == (20, 44)
    assert pure_tensors.tensor(gone).symbolic and not pure_tensors.has_memory(gone)


def multiplied(x, n):
    part = (x * 2).as_strided((4, 4), (4, 1), n)  # kept for the backward, whose input has the offset n
    return part @ part


def of_tensor(x, n):
    start = n.item()
    torch._check(start >= 0)
    torch._check(start < 8)
    return multiplied(x, start)


def entries(function, starts, directory):
    """The compilations of a function that is called with each of ``starts``."""
    torch._dynamo.reset()
    compiled = torch.compile(function, backend="aot_eager")
    with depyf.prepare_debug(directory) if directory else contextlib.nullcontext():
        for start in starts:
            compiled(torch.arange(24.0).requires_grad_(), start).sum().backward()
    return len(torch._dynamo.eval_frame._debug_get_cache_entry_list(function.__code__))


def test_as_many_compilations(tmp_path):
    """The offset is an int of the program: torch learns nothing of it on its own."""
    starts = (2, 3, 5, 0, 1)
    alone, looked_at = entries(multiplied, starts, None), entries(multiplied, starts, tmp_path)
    assert alone == looked_at == 2


def test_an_unbacked_offset_is_in_the_dump(tmp_path):
    starts = tuple(map(torch.tensor, (2, 0)))
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        assert entries(of_tensor, starts, tmp_path) == 1
    assert json.loads((tmp_path / "manifest.json").read_text())["notes"] == []
    (backward,) = tmp_path.glob("*Backward_graph*.json")
    assert '"stride": ["4", "1"]' in backward.read_text()
