"""Guards as a person reads them, and as torch evaluates them."""

from __future__ import annotations

import ast
import collections
import dataclasses
import enum
import importlib.util
import inspect
import itertools
import math
import re
import types
import warnings

import pytest
import torch
from torch_programs import PROGRAMS

from depyf.api import prepare_debug
from depyf.errors import DepyfError
from depyf.run.guard_vocabulary import CHECKS
from depyf.run.guards.known_kinds import PART_ONLY
from depyf.sources.live.caches.entries import cache_entries
from depyf.sources.live.guards import check_functions
from depyf.sources.live.guards.ask import ask_entry
from depyf.sources.live.guards.guard_tree import live_guards
from depyf.sources.live.guards.printed_guards import parse_guards, readable
from depyf.sources.reports.guards.guard_remarks import split_comment
from depyf.sources.reports.guards.guard_text import CompletedNames, GuardReader

pytestmark = pytest.mark.torch

TREE = """
TREE_GUARD_MANAGER:
+- RootGuardManager
| +- DEFAULT_DEVICE: utils_device.CURRENT_DEVICE == None   # _dynamo/output_graph.py:1122 in init_ambient_guards
| +- GuardManager: source=L['n'], accessed_by=FrameLocalsGuardAccessor(key='n'), type=<class 'int'>
| | +- TYPE_MATCH: ___check_type_id(L['n'], 140565335604448), type=<class 'int'>  # x = a + n  # mp/toy.py:3 in f
| +- GuardManager: source=L['d'], accessed_by=FrameLocalsGuardAccessor(key='d'), type=<class 'dict'>
| | +- DICT_CONTAINS: not ___dict_contains('k', L['d'])  # d.get("k")  # a comment  # mp/toy.py:4 in f (HINT: x)
+- LAMBDA_GUARD: 2 <= L['a'].size()[0]  # x = a + n  # mp/toy.py:3 in f
Guard latency = 12.3 us
"""


def test_tree():
    printed_guards = parse_guards(TREE, CompletedNames(["/tmp/toy.py", "/tmp/other.py"]))
    assert [guard.expression for guard in printed_guards] == [
        "default_device_is(None)",
        "type_is(L['n'], 'int')",
        "'k' not in L['d']",
        "2 <= L['a'].size()[0]",
    ]
    assert [guard.source for guard in printed_guards] == ["", "L['n']", "L['d']", ""]
    assert str(printed_guards[1].place) == "/tmp/toy.py:3 in f"
    assert printed_guards[2].place is not None and printed_guards[2].place.text == 'd.get("k")  # a comment'
    assert printed_guards[2].why == "HINT: x"
    assert "140565335604448" not in repr(printed_guards)


@pytest.mark.parametrize(
    ("kind", "text", "expression"),
    [
        ("ID_MATCH", "___check_obj_id(G['torch'].abs, 1403)", "same_object(G['torch'].abs, 'object')"),
        ("ID_MATCH", "___check_obj_id(L['c'], 14), type=<Color.RED: 1>", "same_object(L['c'], 'Color')"),
        (
            "ID_MATCH",
            "___check_obj_id(L['f'], 14), type=<a.B.C object at 0x7f12345678>",
            "same_object(L['f'], 'a.B.C')",
        ),
        (
            "ID_MATCH",
            "___check_obj_id(G['g'].__code__, 14), type=<code object g at 0x7f12345678, file \"/t/n.py\", line 2>",
            "same_object(G['g'].__code__, 'code')",
        ),
        (
            "ID_MATCH",
            "___check_obj_id(___tuple_iterator_getitem(L['i'], 0), 14), type=Linear(3, 4)",
            "same_object(iterator_item(L['i'], 0), 'object')",
        ),
        ("EQUALS_MATCH", "L['n'] == 1", "same_value(L['n'], 1)"),
        ("LAMBDA_GUARD", "L['n'] == 1", "L['n'] == 1"),
        (
            "TYPE_MATCH",
            "___check_type_id(G['_139698235632160_c22'].T, 94), type=<class 'm.T'>",
            "type_is(G['_c22'].T, 'm.T')",
        ),
        (
            "DICT_VERSION",
            "___dict_version(G['d']) == 1078199",
            "unchanged(G['d'])",
        ),
        ("DICT_CONTAINS", "not ___dict_contains(('a', 1), L['d'])", "('a', 1) not in L['d']"),
        ("ANY", "set.__contains__(L['s'], 3)", "3 in L['s']"),
        ("ANY", "set.__contains__(G['_VALID_IDS'], 'a')", "'a' in G['_VALID_IDS']"),
        ("LAMBDA_GUARD", "L['ID'].size()[0] == 3", "L['ID'].size()[0] == 3"),
        ("EQUALS_MATCH", "list(L['d'].keys())[0] == 'a'", "same_value(list(dict.keys(L['d']))[0], 'a')"),
        ("EQUALS_MATCH", "list(dict.keys(L['d']))[0] == 'a'", "same_value(list(dict.keys(L['d']))[0], 'a')"),
        (
            "DICT_CONTAINS",
            "not ___dict_contains(<class 'torch.Tensor'>, G['nodes'])",
            "torch.Tensor not in G['nodes']",
        ),
        ("DICT_CONTAINS", "___dict_contains(<class 'm.C'>, G['d'])", "class_named('m.C') in G['d']"),
        (
            "EQUALS_MATCH",
            "list(dict.keys(G['d']))[0] == \"<class 'm.C'>\"",
            "same_value(list(dict.keys(G['d']))[0], \"<class 'm.C'>\")",
        ),
        (
            "DICT_CONTAINS",
            "not ___dict_contains(<class 'm.C'>, G[\"<class 'm.D'>\"])",
            "class_named('m.C') not in G[\"<class 'm.D'>\"]",
        ),
        ("TUPLE_ITERATOR_LEN", "___tuple_iterator_len(L['it']) == 2", "iterator_length(L['it']) == 2"),
        ("EQUALS_MATCH", "___tuple_iterator_getitem(L['it'], 0) == 1", "same_value(iterator_item(L['it'], 0), 1)"),
        ("LAMBDA_GUARD", "___list_reverseiterator_len(L['it']) == 2", "reversed_length(L['it']) == 2"),
        (
            "LENGTH_CHECK",
            "len(___list_reverseiterator_backing_list(L['it'])) == 2",
            "len(reversed_list(L['it'])) == 2",
        ),
        ("EQUALS_MATCH", "L['dev'] == device(type='cpu')", "same_value(L['dev'], torch.device(type='cpu'))"),
        ("EQUALS_MATCH", "L['x'] == -inf", "same_value(L['x'], -float('inf'))"),
        ("EQUALS_MATCH", "L['s'] == {'x', 3}", "same_value(L['s'], {'x', 3})"),
        ("EQUALS_MATCH", "L['s'] == {3, 'x'}", "same_value(L['s'], {'x', 3})"),
        ("EQUALS_MATCH", "L['e'] == <Color.RED: 1>", "shows_as(L['e'], '<Color.RED: 1>')"),
        (
            "LAMBDA_GUARD",
            "(type(L['v']) is float and __math_isnan(L['v']))",
            "type(L['v']) is float and is_nan(L['v'])",
        ),
        (
            "SHAPE_ENV",
            "math.ceil(1.0 + (((-2) + L['x'].size()[2]) / 2)) != 1",
            "math.ceil(1.0 + (((-2) + L['x'].size()[2]) / 2)) != 1",
        ),
        ("MAPPING_KEYS_MATCH", "list(G['m'].keys()) == ['z', (1, 2)]", "list(G['m']) == ['z', (1, 2)]"),
        ("LAMBDA_GUARD", "math.isnan(L['v'])", "is_nan(L['v'])"),
        ("LAMBDA_GUARD", "operator.index(L['v']) == 1", "torch_checks(\"operator.index(L['v']) == 1\")"),
        ("LAMBDA_GUARD", "something_of_torch(L['v']) == 2", "torch_checks(\"something_of_torch(L['v']) == 2\")"),
        ("ANY", "[n for n in L['v']] == [1]", "[n for n in L['v']] == [1]"),
        ("TRUE_MATCH", "L['b'] == True", "L['b'] is True"),
        ("FALSE_MATCH", "L['self'].training == False", "L['self'].training is False"),
        ("EQUALS_MATCH", "L['b'] == True", "same_value(L['b'], True)"),
        ("NEW_KIND", "something <odd> at 0x7f12345678", "torch_checks('something <odd> at 0xADDR')"),
        ("GLOBAL_STATE", '___check_global_state() against {"grad_mode":true}', "check_global_state(grad_mode=True)"),
        (
            "GLOBAL_STATE",
            '___check_global_state() against {"default_dtype":7}',
            "check_global_state(default_dtype=torch.float64)",
        ),
    ],
)
def test_expressions(kind, text, expression):
    assert readable(kind, text) == expression
    ast.parse(expression, mode="eval")


def test_no_comment():
    assert split_comment("L['n'] == '# no'", lambda name: name)[1:] == (None, "")
    hinted = "L['n'] == 3" + 40 * " " + "(HINT: make it (really) static)"
    assert split_comment(hinted, lambda name: name) == ("L['n'] == 3", None, "make it (really) static")
    assert split_comment("L['n'] == 'a  # b'  # duck sizing", lambda name: name) == (
        "L['n'] == 'a  # b'",
        None,
        "duck sizing",
    )
    guard, place, _ = split_comment(
        "L['f'].__doc__ == '\\n  # it\\'s b'  # wrap(f)  # it's a \"remark\"  # t/m.py:3 in g", lambda name: name
    )
    assert guard == "L['f'].__doc__ == '\\n  # it\\'s b'"
    assert (place.line, place.text) == (3, 'wrap(f)  # it\'s a "remark"')


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_full_code_asks_the_live_manager(tmp_path):
    def f(x, n, flag=True):
        return x * n if flag else x + n

    compiled = torch.compile(f, backend="eager", dynamic=False)
    with prepare_debug(tmp_path):
        compiled(torch.ones(3), 2)
        compiled(torch.ones(4), 2)
        compiled(torch.ones(4), 2, flag=False)
    module = load(tmp_path / "full_code_for_f_0.py")
    values = {"x": torch.ones(3), "n": 2, "flag": True}
    assert module.guard_0_0.check(values)
    assert not module.guard_0_1.check(values)
    assert "size" in module.guard_0_1.explain(values)
    # the readable expressions agree with torch's own managers
    for locals_ in (
        values,
        {**values, "x": torch.ones(4)},
        {**values, "x": torch.ones(4), "flag": False},
        {**values, "n": 3},
    ):
        for slug in ("0_0", "0_1", "0_2"):
            live = getattr(module, f"guard_{slug}").check(locals_)
            assert bool(getattr(module, f"guards_{slug}")(locals_, f.__globals__)) == live
    text = inspect.getsource(module)
    assert f"{__file__}:" in text, "the user's line is shown"
    torch._dynamo.reset()
    with pytest.raises(DepyfError, match="not alive"):
        module.guard_0_0.check(values)


def test_no_unreadable_guards_in_the_toy(tmp_path):
    with prepare_debug(tmp_path):
        PROGRAMS["toy_recompiled"](lambda fn: torch.compile(fn, backend="eager"))
    assert "torch_checks(" not in (tmp_path / "full_code_for_toy_function_0.py").read_text()


class Normed(torch.nn.Module):
    """Its hook has another key in each object: torch counts all hooks of a process."""

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.utils.weight_norm(torch.nn.Conv1d(1, 2, 3))

    def forward(self, x):
        return self.conv(x)


@pytest.mark.filterwarnings("ignore:.*weight_norm")
def test_an_item_of_which_torch_asks_the_place_and_not_the_key(tmp_path):
    first, second = Normed(), Normed()
    x = torch.randn(1, 1, 8)
    with prepare_debug(tmp_path):
        compiled = torch.compile(Normed.forward, backend="eager")
        compiled(first, x)
    page = load(tmp_path / "full_code_for_forward_0.py")
    (entry,) = cache_entries(Normed.forward.__code__)
    for module in (first, second):
        locals_ = {"self": module, "x": x}
        answer = ask_entry(entry, locals_)
        assert answer.runs or module is second  # torch 2.6 asks for the very object
        assert answer.runs == all(step.holds for step in answer.steps)
        assert answer.runs == bool(page.guards_0_0(locals_, Normed.forward.__globals__))


@pytest.mark.parametrize(("tells", "shown"), [(True, "3 in L['s']"), (False, "same_membership(3, L['s'])")])
def test_membership_where_torch_does_not_print_not(tells, shown):
    readable = GuardReader(lambda kind: tells).readable
    assert readable("SET_CONTAINS", "set.__contains__(L['s'], 3)") == shown
    assert readable("SET_CONTAINS", "set.__contains__(L['s'], 'a in b')") == shown.replace("3", "'a in b'")


def test_what_a_set_has_and_has_not(tmp_path):
    def f(x, names):
        return x + 1 if "a" in names and "b" not in names else x - 1

    with prepare_debug(tmp_path):
        torch.compile(f, backend="eager")(torch.ones(3), {"a", "c"})
    page = load(tmp_path / "full_code_for_f_0.py")
    assert "torch_checks(" not in inspect.getsource(page)
    for names in ({"a", "c"}, {"a"}, {"a", "b"}, {"b"}, set()):
        values = {"x": torch.ones(3), "names": names}
        assert bool(page.guards_0_0(values, f.__globals__)) == page.guard_0_0.check(values)


def test_large_numbers_of_the_program(tmp_path):
    def f(x, n, d):
        return x * n + d[1700000000123]

    values = {"x": torch.ones(3), "n": 1234567890, "d": {1700000000123: 2.0}}
    with prepare_debug(tmp_path):
        torch.compile(f, backend="eager", dynamic=False)(**values)
    page = load(tmp_path / "full_code_for_f_0.py")
    text = inspect.getsource(page)
    assert "same_value(L['n'], 1234567890)" in text and "L['d'][1700000000123]" in text and "shows_as" not in text
    assert page.guards_0_0(values, f.__globals__)
    assert not page.guards_0_0({**values, "n": 1234567891}, f.__globals__)


def test_sizes_of_which_torch_knows_what_math_makes_of_them(tmp_path):
    def f(x):
        frames = math.ceil((x.size(-1) - 2) / 2 + 1)
        return x + 1 if frames > 3 else x - 1

    with prepare_debug(tmp_path):
        compiled = torch.compile(f, backend="eager", dynamic=True)
        compiled(torch.randn(2, 9))
    page = load(tmp_path / "full_code_for_f_0.py")
    text = inspect.getsource(page)
    assert "math.ceil(" in text and "torch_checks(" not in text and "import math" in text
    for size in range(2, 14):
        locals_ = {"x": torch.randn(2, size)}
        assert bool(page.guards_0_0(locals_, f.__globals__)) == page.guard_0_0.check(locals_)


class Color(enum.Enum):
    RED = 1


@dataclasses.dataclass
class Sizes:
    wide: int
    high: float


def test_every_name_is_one_of_the_page(tmp_path):
    """Guards of torch's own functions, over classes, iterators, arrays and sets: the page evaluates each of them."""
    numpy = pytest.importorskip("numpy")

    def f(x, color, sizes, items, numbers, count, array, wanted, options, device, dtype, nan, infinite):
        x = x + sizes.wide * sizes.high
        for value in items:
            x = x + value
        for value in numbers:
            x = x + value
        x = x + next(count) + torch.from_numpy(array).sum()
        if 3 in wanted and "zz" not in options and device.type == "cpu" and color is Color.RED:
            x = x.to(dtype)
        return x if math.isnan(nan) and infinite > 1 else x + 1

    def arguments():
        return (
            torch.ones(4), Color.RED, Sizes(1, 2.0), iter((1, 2)), iter(range(1, 5)), itertools.count(3), numpy.ones(3),
            {3, "x"}, {"a": 1}, torch.device("cpu"), torch.float64, float("nan"), float("inf"),
        )  # fmt: skip

    def g(a, b):
        a.add_(1)
        b.mul_(2)
        return a.sum() + b.sum()

    base = torch.ones(10)
    with prepare_debug(tmp_path):
        compiled = torch.compile(f, backend="eager")
        compiled(*arguments())
        shared = torch.compile(g, backend="aot_eager", dynamic=True)
        shared(base[:5], base[5:])
        shared(base[:6], base[3:])
    assert "check_overlapping(" in (tmp_path / "full_code_for_g_0.py").read_text()
    for name in ("f", "g"):
        text = (tmp_path / f"full_code_for_{name}_0.py").read_text()
        assert not re.search(r"(?<!_)___\w+\(|torch_checks\(|__math_isnan", text)
    with warnings.catch_warnings():
        # where torch and the page differ, the page warns; torch itself copies iterators of itertools, of which 3.12 warns
        warnings.simplefilter("error", RuntimeWarning)
        page = load(tmp_path / "full_code_for_f_0.py")
        assert page.guards_0_0(*page.frame_0.enter(dict(zip(inspect.signature(f).parameters, arguments()))))
        assert not page.guard_0_0.disagreements
        page = load(tmp_path / "full_code_for_g_0.py")
        first, second = (getattr(page, name) for name in sorted(vars(page)) if re.fullmatch(r"guards_\d+_\d+", name))
        frame = next(value for name, value in vars(page).items() if re.fullmatch(r"frame_\d+", name))
        for pair, entry in (((base[:5], base[5:]), first), ((base[:6], base[3:]), second)):
            assert entry(*frame.enter(dict(zip("ab", pair))))
        assert not second(*frame.enter({"a": base[:5], "b": base[5:]}))


def test_what_a_container_holds_is_asked_once_and_in_one_order():
    lines = [
        "| +- GuardManager: source=L['d'], accessed_by=FrameLocalsGuardAccessor(key='d', framelocals_idx=0)",
        "| | +- DICT_CONTAINS: 'b' not in L['d']",
        "| | +- DICT_CONTAINS: 'a' in L['d']",
        "| | +- DICT_CONTAINS: 'b' not in L['d']",
        "| | +- TYPE_MATCH: ___check_type_id(L['d'], 1), type=<class 'dict'>",
        "| | +- DICT_CONTAINS: 'a' in L['d']",
    ]
    head = "TREE_GUARD_MANAGER:\n+- RootGuardManager\n"
    found = [guard.expression for guard in parse_guards(head + "\n".join(lines))]
    assert found == ["'a' in L['d']", "'b' not in L['d']", "type_is(L['d'], 'dict')", "'a' in L['d']"]
    lines[1:4] = lines[2:4] + lines[1:2]
    assert found == [guard.expression for guard in parse_guards(head + "\n".join(lines))]


def test_names_with_addresses_of_one_compilation_stay_apart(tmp_path):
    """Each namedtuple has a namespace of its own, which Dynamo installs under the number of its address."""
    one = collections.namedtuple("one", "x y")
    other = collections.namedtuple("other", "x y")

    def both(x, make):
        first, second = one(x, make), other(x, 2)
        return first.x + second.y

    with prepare_debug(tmp_path):
        compiled = torch.compile(both, backend="eager")
        compiled(torch.ones(2), 1)
    text = next(tmp_path.glob("full_code_for_both*.py")).read_text()
    scopes = set(re.findall(r"G\['(\w*unnamed_scope\w*)'\]", text))
    if not scopes:
        pytest.skip("this torch guards on no namespace here")
    assert len(scopes) == 2, scopes
    assert not any(re.search(r"\d{9}", name) for name in scopes)
    (entry,) = cache_entries(both.__code__)
    inner = inspect.getclosurevars(both).nonlocals
    asked = ask_entry(entry, {"x": torch.ones(2), "make": 1, **inner})
    assert asked.runs and all(step.holds for step in asked.steps), [step for step in asked.steps if not step.holds]


class _Biased(torch.nn.Module):
    """Methods that are looked up in no order, and a buffer that is None: its key in ``_buffers`` is guarded."""

    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.ones(2))
        self.register_buffer("bias", None)

    def second(self, x):
        return x * self.scale

    def first(self, x):
        return self.second(x) if self.bias is None else x

    def forward(self, x):
        x = self.third(self.second(self.first(x)))
        if not hasattr(self, "made"):
            self.register_buffer("late", x.detach())
        return x

    def third(self, x):
        return x + 1


def test_each_guard_stands_for_a_guard_of_torch():
    """But for those over several values and a dictionary's own; and all of them say what torch says."""
    torch._dynamo.reset()
    module = _Biased()
    compiled = torch.compile(module, backend="eager")
    compiled(torch.ones(2))
    compiled(torch.ones(2))
    entries = cache_entries(_Biased.forward.__code__)
    assert entries
    for entry in entries:
        printed_guards = live_guards(entry)
        alone = [found.record for found in printed_guards if not found.leaves]
        assert len(alone) < len(printed_guards) / 3
        assert not [record for record in alone if record.kind not in PART_ONLY], alone
    L = {"self": module, "x": torch.ones(2)}
    asked = [ask_entry(entry, L) for entry in entries]
    assert any(answer.runs and all(step.holds for step in answer.steps) for answer in asked), [
        step for answer in asked for step in answer.steps if not step.holds
    ]
    assert all(step.agrees for answer in asked for step in answer.steps)


class _Caching(torch.nn.Module):
    """Keeps results by the module that gave them, as whisper's cache of keys and values does."""

    def __init__(self):
        super().__init__()
        self.key = torch.nn.Linear(2, 2)
        self.value = torch.nn.Linear(2, 2)

    def forward(self, x, cache):
        key = cache[self.key] if cache and self.key in cache else self.key(x)
        return key * (cache[self.value] if self.value in cache else self.value(x))


def test_objects_that_are_keys_are_readable():
    torch._dynamo.reset()
    module, x = _Caching(), torch.ones(2)
    compiled = torch.compile(module, backend="eager")
    one, other = torch.ones(2), torch.zeros(2)
    compiled(x, {module.key: one, module.value: other})
    (entry,) = cache_entries(_Caching.forward.__code__)
    for cache, runs in (
        ({module.key: one, module.value: other}, True),
        ({module.value: one, module.key: other}, False),
    ):
        answer = ask_entry(entry, {"self": module, "x": x, "cache": cache})
        # torch before 2.8 asks for identity itself
        texts = ("same_object(list(dict.keys(L['cache']))", "list(dict.keys(L['cache']))[0] is ")
        asked = [step for step in answer.steps if step.expression.startswith(texts)]
        assert answer.runs is runs and asked and all(step.holds is runs for step in asked)
        assert not any("torch_checks(" in step.expression for step in answer.steps)
        assert all(step.agrees for step in answer.steps)


def test_the_checks_that_guards_name_are_those_of_a_page():
    """Guards are read without torch, so the names are a list there."""
    homes = (check_functions.__name__, "depyf.run.plain_guard_checks", "depyf.run.guards.kinds.")
    made = (
        name
        for name, value in vars(check_functions).items()
        if isinstance(value, types.FunctionType) and not name.startswith("_") and value.__module__.startswith(homes)
    )
    assert set(made) == CHECKS | {"marks_on", "tensor_differences"}
