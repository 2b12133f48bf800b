"""Every way in which depyf looks at a value of a program runs no code of it and leaves it as it is."""

import collections
import contextlib
import enum
import json
import types

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

import depyf
from depyf.sources.live.caches.live_graphs import live_code
from depyf.sources.live.decorated import stands_for
from depyf.sources.live.events.call_values import CallValues
from depyf.sources.live.events.graph_reading import tensor_facts
from depyf.sources.live.guards import check_functions as guard_checks
from depyf.sources.live.guards.asked_of_values import ask
from depyf.sources.live.guards.guard_values import describe
from depyf.sources.live.pure_access import (
    UnreadableError,
    attribute,
    cell_contents,
    class_module,
    class_name,
    equal,
    full_name,
    inherits,
    is_a,
    item,
    length,
    literal,
)
from depyf.sources.live.pure_tensors import (
    elements,
    expression,
    is_parameter,
    is_tensor,
    module_attribute,
    number,
    storage,
    symbol_of,
    tensor,
)
from depyf.sources.live.pure_text import shown
from depyf.sources.live.recording.substitute import refuse_constants
from depyf.sources.live.target import find_target

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]

RAN = []
ARMED = []
"""Not empty while depyf looks: at other times pytest may look at a value, to report a failure."""


def runs(name):
    def method(self, *args, **kwargs):
        if ARMED:
            RAN.append(name)
            raise RuntimeError(f"{name} of the program ran")
        return {"__hash__": 0, "__repr__": "", "__str__": "", "__len__": 0, "__class__": type(self)}.get(name)

    return method


METHODS = ("__repr__", "__str__", "__eq__", "__hash__", "__len__", "__bool__", "__iter__", "__getitem__", "__contains__",
           "__getattr__", "__int__", "__index__", "__float__", "__format__", "__call__", "__instancecheck__")  # fmt: skip


class Meta(type):
    """A metaclass that notices when its class is asked anything."""

    def __getattribute__(cls, name):
        if not ARMED or name in ("__dict__", "__mro__"):
            return super().__getattribute__(name)
        RAN.append(f"class.{name}")
        raise RuntimeError(name)

    __instancecheck__ = __subclasscheck__ = runs("check")


namespace = {name: runs(name) for name in METHODS}
for name in ("__class__", "shape", "dtype", "device", "stride", "__dict__", "node", "graph", "__code__", "__name__"):
    namespace[name] = property(runs(name))
Hostile = Meta("Hostile", (), {**namespace, "__slots__": ()})
HostileList = type("HostileList", (list,), {n: namespace[n] for n in namespace if n != "__getattr__"})
HostileDict = type("HostileDict", (dict,), dict(HostileList.__dict__))
HostileInt = type("HostileInt", (int,), {n: namespace[n] for n in namespace if n not in ("__getattr__", "__call__")})


@contextlib.contextmanager
def nothing_runs(name=""):
    """Inside, no code of a value may run."""
    RAN.clear()
    ARMED.append(name)
    problem = ""
    try:
        yield
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
    finally:
        ARMED.pop()
    assert not problem and RAN == [], (name, problem, RAN)


def hostile_values():
    made = [object.__new__(Hostile), HostileList([1, 2]), HostileDict(a=1), HostileInt(3)]
    return [*made, [made[0]], (made[0], made[2]), {"k": made[0]}]


LOOKS = {
    "describe": describe,
    "shown": shown,
    "literal": literal,
    "length": length,
    "number": number,
    "expression": expression,
    "tensor?": is_tensor,
    "parameter?": is_parameter,
    "storage": storage,
    "symbol": symbol_of,
    "elements": lambda value: elements(value, 10),
    "class": lambda value: (class_name(type(value)), class_module(type(value)), full_name(type(value))),
    "attributes": lambda value: [attribute(value, name) for name in ("__code__", "shape", "nothing", "node", "__name__")],
    "is_a": lambda value: (is_a(value, int), is_a(value, torch.Tensor), inherits(value, int)),
    "item": lambda value: (readable(lambda: item(value, 0)), readable(lambda: item(value, "a"))),
    "equal": lambda value: equal(value, [1]) or equal([value], [object()]) or equal({"k": value}, {"k": 1}),
    "cell": cell_contents,
    "module": lambda value: module_attribute(value, "weight"),
    "guards": lambda value: (
        guard_checks.type_is(value, "int"), guard_checks.same_object(value, "int"), guard_checks.marks_on(value),
        guard_checks.same_items(value, "dict", 0), guard_checks.shows_as(value, "x"),
        guard_checks.marks_within(value, "dynamic", set()),
        guard_checks.tensor_differences(value, "Tensor", torch.float32, size=[2], stride=[1], requires_grad=False),
    ),
    "variables": lambda value: [
        getattr(CallValues({"x": value}, inner=frozenset("x")), look)(source)
        for look in ("shown", "roles")
        for source in ("x", "x.shape", "x[0]", "x['a']", "len(x)", "x.size()", "L['x'].a", "x.state", "x.param_groups[0]")
    ] + [CallValues().class_name(value), CallValues().side(value), CallValues().ask("is_view", value), ask("is_view", value)],
    "graphs": lambda value: live_code([value, [value], types.SimpleNamespace(a=value)]),
    "constants": lambda value: refuse_constants(code_with(value), code_with(object())),
    "decorated": lambda value: stands_for(code_with(None), (types.CellType(value),), {"x": value}),
}  # fmt: skip


def readable(look):
    try:
        return look()
    except UnreadableError:
        return True


def code_with(constant):
    def f(x):
        return x

    return f.__code__.replace(co_consts=(None, constant))


@pytest.mark.parametrize("look", LOOKS)
def test_no_code_of_a_value_runs(look):
    for index, value in enumerate(hostile_values()):
        with nothing_runs(str(index)):
            LOOKS[look](value)


def test_what_cannot_be_called_is_named_by_its_class():
    value = HostileInt(3)
    with nothing_runs(), pytest.raises(depyf.DepyfError, match="HostileInt"):
        find_target(value)


def notice(func):
    if ARMED:
        RAN.append(str(func))
    raise RuntimeError("the program was asked")


class Wrapper(torch.Tensor):
    """A wrapper subclass that notices all that torch asks it."""

    @staticmethod
    def __new__(cls, inner, policy):
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, strides=inner.stride(), dtype=inner.dtype, device=inner.device,
            requires_grad=inner.requires_grad, dispatch_sizes_strides_policy=policy, dispatch_device=True, dispatch_layout=True,
        )  # fmt: skip

    def __init__(self, inner, policy):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return notice(func)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return notice(func)


class Functional(torch.Tensor):
    shape = property(runs("shape"))
    __repr__ = runs("__repr__")

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return notice(func)


def tensors():
    base = torch.ones(3, 4)
    yield "plain", base
    yield "parameter", torch.nn.Parameter(torch.ones(3))
    yield "function", base.as_subclass(Functional)
    for policy in (None, "sizes", "strides"):
        yield f"wrapper {policy}", Wrapper(base, policy)
    yield "meta", torch.ones(2, device="meta")
    yield "sparse", torch.eye(3).to_sparse()
    yield "sparse csr", torch.eye(3).to_sparse_csr()
    yield "empty", torch.empty(0)
    freed = torch.ones(8)
    freed.untyped_storage().resize_(0)
    yield "freed", freed
    with torch.inference_mode():
        yield "inference", torch.ones(2)
    yield "nested", torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=torch.jagged)
    yield "nested strided", torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)])
    yield "quantized", torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8)
    with torch._subclasses.functional_tensor.FunctionalTensorMode():
        yield "functional", torch._subclasses.functional_tensor.FunctionalTensor.to_functional(base)
    yield "functional wrapper", torch._to_functional_tensor(base)
    yield "lazy clone", torch._lazy_clone(torch.ones(3))
    mode = FakeTensorMode(shape_env=ShapeEnv())
    with mode:
        yield "fake", torch.ones(3, device="cuda")
    yield "symbolic", mode.from_tensor(torch.ones(5, 3), static_shapes=False)
    weight = torch.ones(4, requires_grad=True)
    written = torch.zeros(4)
    view = written[:2]
    written.mul_(weight)
    yield "view of a written base", view
    with torch.no_grad():
        written = torch.zeros(4)
        view = written[:2]
    written.mul_(weight)
    yield "view made under no_grad", view
    first, second = (weight * 2).split(2)
    first._base.mul_(2)
    yield "one of several views", second


TENSOR_LOOKS = {
    name: LOOKS[name] for name in ("describe", "shown", "literal", "storage", "elements", "guards", "graphs", "attributes",
                                   "variables", "parameter?", "number", "item", "equal", "constants")
}  # fmt: skip
TENSOR_LOOKS["facts"] = lambda value: tensor_facts(value, {})


@pytest.mark.parametrize("look", TENSOR_LOOKS)
def test_no_tensor_notices(look):
    for name, value in tensors():
        with nothing_runs(name):
            TENSOR_LOOKS[look](value)


def test_no_mode_notices():
    class FunctionMode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            RAN.append(str(func))
            return func(*args, **(kwargs or {}))

    class DispatchMode(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            RAN.append(str(func))
            return func(*args, **(kwargs or {}))

    values = list(tensors())
    with FunctionMode(), DispatchMode():
        RAN.clear()
        for name, value in values:
            for look in TENSOR_LOOKS.values():
                look(value)
                assert RAN == [], name


def test_what_is_seen():
    seen = {name: tensor(value) for name, value in tensors()}
    assert seen["plain"].size == (3, 4) and seen["plain"].stride == (4, 1) and seen["plain"].leaf
    assert seen["function"].size == (3, 4) and seen["wrapper None"].size is None and seen["functional"].size == (3, 4)
    assert str(seen["fake"].device) == "cuda:0" and seen["sparse"].stride is None
    assert len(seen["nested"].size) == 3
    assert seen["view of a written base"].requires_grad and not seen["view of a written base"].leaf
    assert seen["view made under no_grad"].requires_grad and not seen["one of several views"].leaf
    for name in ("plain", "parameter", "sparse", "meta", "inference", "fake", "functional wrapper"):
        value = dict(tensors())[name]
        assert seen[name].leaf == value.is_leaf and tuple(value.shape) == seen[name].size
    values = dict(tensors())
    assert elements(values["plain"], 100).values == (1.0,) * 12 and elements(values["plain"], 3).high == 1.0
    for name in (
        "freed",
        "meta",
        "fake",
        "functional",
        "function",
        "symbolic",
        "sparse",
        "quantized",
        "functional wrapper",
    ):
        assert elements(values[name], 100) is None, name


def test_memory_that_is_shared_until_it_is_written_stays_shared():
    lazy = torch._lazy_clone(torch.ones(3))
    if not hasattr(torch._C, "_is_cow_tensor"):
        pytest.skip("this torch does not tell")
    for look in TENSOR_LOOKS.values():
        look(lazy)
    assert torch._C._is_cow_tensor(lazy)


def test_symbolic_numbers():
    shapes = ShapeEnv()
    value = FakeTensorMode(shape_env=shapes).from_tensor(torch.ones(6, 5), static_shapes=False)
    before = (list(shapes.guards), dict(shapes.replacements), dict(shapes.var_to_range))
    rows, columns = value.shape
    area = rows * columns + 1
    name = str(rows.node.expr)
    assert number(rows) == 6 and number(area) == 31 and symbol_of(rows) == name and symbol_of(area) == ""
    assert expression(area) == str(area.node.expr) and expression(7) == "7"
    facts = tensor_facts(value, found := {})
    assert facts.shape == (6, 5) and found[name] == 6
    half = rows / 2
    assert number(half) == 3.0 and number(rows > 3) is True
    unbacked = shapes.create_unbacked_symint()
    assert number(unbacked) is None and expression(unbacked).startswith("u")
    assert (list(shapes.guards), dict(shapes.replacements)) == before[:2]
    if rows == columns + 1:  # the program learns something
        known = dict(shapes.replacements)
        assert expression(rows) == str(rows.node.expr) or known
        assert number(rows) == 6


class Colour(enum.Enum):
    RED = 1


def test_texts():
    assert describe(Colour.RED) == "<Colour.RED: 1>" == shown(Colour.RED)
    assert describe(torch.ones(2, 3)) == "Tensor float32[2, 3]"
    assert describe([1, (2,), {"a": None}]) == "[1, (2,), {'a': None}]"
    assert describe(HostileList([1, 2])) == "HostileList with 2 items"
    assert describe(collections.OrderedDict(a=1)) == "OrderedDict with 1 item"
    assert (
        describe(torch.float32) == "torch.float32" and describe(int) == "type int" and describe(torch) == "module torch"
    )
    assert shown({1: (2, "a")}) == "{1: (2, 'a')}" and shown(torch.device("cpu")) == "device(type='cpu')"
    assert shown(hostile_values()[0]) == ""


def test_keys_of_a_dictionary_are_not_asked():
    key = type("Key", (), {"__hash__": lambda self: hash("a"), "__eq__": runs("__eq__")})()
    made = {key: 1, "a": 2}
    with nothing_runs():
        assert item(made, "a") == 2


def view_made_under_no_grad():
    with torch.no_grad():
        base = torch.zeros(4)
        return base[:2], base


def one_of_several_views():
    base = torch.zeros(4)
    return base.split(2)[0], base


def one_of_several_results():
    view = (torch.ones(4, requires_grad=True) * 2).split(2)[0]
    return view, view._base


@pytest.mark.parametrize("made", (view_made_under_no_grad, one_of_several_views, one_of_several_results))
def test_a_graph_with_a_view_whose_base_was_written(tmp_path, made):
    """Its inputs are in the dump, and nothing is missing."""
    view, base = made()
    with depyf.prepare_debug(tmp_path):
        torch.compile(lambda v, base, w: (v.detach() + 1, base.mul_(w))[0], backend="eager")(
            view, base, torch.ones(4, requires_grad=True)
        )
    (found,) = tmp_path.glob("*Captured_Graph*.json")
    assert '"L_v_"' in found.read_text() and json.loads((tmp_path / "manifest.json").read_text())["notes"] == []
