"""The simplified text does what the exact one does: same calls, same order, same result, on recording objects."""

from __future__ import annotations

import ast

import pytest

from depyf.dynamo.reading import readable_function

CASES = {
    "graph_break": """
def f(a, b):
    __temp_0 = __compiled_fn_0_0
    tmp_2 = (tmp_1 := __import_torch_dot__dynamo_dot_utils.record_pregraph_bytecode_enter)()
    (tmp_3 := __import_torch_dot__dynamo_dot_utils.record_pregraph_bytecode_exit)(tmp_2)
    __temp_1 = __temp_0(a, b)
    del tmp_1
    del tmp_3
    graph_out_0 = __temp_1
    __temp_2 = [()]
    __temp_3 = [graph_out_0[1]]
    __temp_4 = [*__temp_3[0:1], b]
    __temp_5 = [__temp_4]
    __temp_6 = graph_out_0[0]
    del graph_out_0
    if __temp_6:
        __temp_5[0][0:0] = []
        __temp_7 = [[__temp_5[0][1], __temp_5[0][0]]]
        __temp_8 = __resume_at_1
        __temp_9 = __temp_7[-1]
        del __temp_7[-1]
        return __temp_8(*[[], __temp_7, *__temp_9])
    return __resume_at_2(*[[], [], *__temp_5[0]])
""",
    "order_kept": """
def f(a, b):
    x = a.first
    y = b()
    z = x + y
    a.last = z
    w = a.first
    return [w, x, z], (lambda: 1)()
""",
    "aliased_list": """
def f(a, b):
    items = [a]
    b(items)
    items[0:0] = [b]
    return items, items
""",
    "unpack_and_shadow": """
def f(a, b):
    t = [a, b]
    b, a = t
    x = b()
    b = x
    return a(b, x)
""",
    "with_block": """
def f(a, b):
    m = a.manager
    with m():
        r = b(1)
    return r
""",
    "one_item_at_a_time": """
def f(a, b):
    value_9 = [a]
    total = b
    value_8 = iter([(a, 1), (b, 2)])
    while True:
        value_99 = True
        for value_100 in value_8:
            break
        else:
            value_99 = False
        if value_99:
            value_0, value_1 = value_100
            del value_100
            key = value_0
            del value_0
            a.put(key, value_1)
            total = total + key
        else:
            del value_8
            value_2 = b(total)
            break
    return value_2, value_9[0]
""",
    "grown": """
def f(a, b):
    value_0 = [a, b]
    value_1 = value_0[0:2]
    value_1.extend([a.x, b.y])
    value_1.append(1)
    p = value_1[2]
    return p, value_1[3], value_1[4], value_1[0]
""",
    "plain_loop": """
def f(a, b):
    seen = [a]
    for x, y in [(a, 1), (b, 2)]:
        seen[0:0] = [x(y)]
    return seen
""",
    "dead_branch": """
def f(a, b):
    if 0:
        total = None
    total = a(b)
    return total
""",
}


class Recorder:
    """Writes down everything done to it; every result is a new recorder with a name of its own."""

    def __init__(self, log, name):
        self._log, self._name = log, name

    def _make(self, text):
        self._log.append(text)
        return Recorder(self._log, f"<{len(self._log)}>")

    def __repr__(self):
        return self._name

    def __call__(self, *args):
        return self._make(f"{self._name}{args}")

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self._make(f"{self._name}.{name}")

    def __setattr__(self, name, value):
        if name in ("_log", "_name"):
            object.__setattr__(self, name, value)
        else:
            self._log.append(f"{self._name}.{name} = {value}")

    def __getitem__(self, key):
        return self._make(f"{self._name}[{key}]")

    def __add__(self, other):
        return self._make(f"{self._name} + {other}")

    def __bool__(self):
        self._log.append(f"bool({self._name})")
        return self._name.endswith("yes") or len(self._log) % 2 == 0

    def __enter__(self):
        return self._make(f"enter {self._name}")

    def __exit__(self, *args):
        self._log.append(f"exit {self._name}")
        return False


def trace(source):
    log = []

    class Graph(Recorder):
        def __call__(self, *args):
            log.append(f"graph{args}")
            return (Recorder(log, "out0"), Recorder(log, "out1"))

    class Utils:
        record_pregraph_bytecode_enter = staticmethod(lambda: None)
        record_pregraph_bytecode_exit = staticmethod(lambda value: None)

    names = {name: Recorder(log, name) for name in ("__resume_at_1", "__resume_at_2")}
    namespace = {"__compiled_fn_0_0": Graph(log, "graph"), "__import_torch_dot__dynamo_dot_utils": Utils, **names}
    exec(source, namespace)
    result = repr(namespace["f"](Recorder(log, "a"), Recorder(log, "b")))
    return log, result


@pytest.mark.parametrize("name", list(CASES))
def test_same_behaviour(name):
    text = readable_function(CASES[name], "f")
    assert text is not None
    assert trace(text) == trace(CASES[name])
    assert "__temp_" not in text
    assert "tmp_" not in text


def test_reads_like_a_person_wrote_it():
    assert readable_function(CASES["graph_break"], "f") == (
        "def f(a, b):\n"
        "    graph_out_0 = __compiled_fn_0_0(a, b)\n"
        "    if graph_out_0[0]:\n"
        "        return __resume_at_1([], [], b, graph_out_0[1])\n"
        "    return __resume_at_2([], [], graph_out_0[1], b)\n"
    )


@pytest.mark.parametrize(
    "body",
    [
        "try:\n        a()\n    finally:\n        b()",
        "a += b\n    return a",
        "while a: b()",
        "return c if a else b",
    ],
)
def test_unknown_shapes_are_left_alone(body):
    assert readable_function(f"def f(a, b):\n    {body}\n", "f") is None


def test_slices_that_would_need_a_name():
    """``value = (:, :n)`` is no Python: the function is shown as it is."""
    source = "def f(x, n):\n    y = x[:, : n()]\n    z = h()\n    return g(y, z, y)\n"
    index = "def f(x, n):\n    i = (slice(None), slice(None, n))\n    return x[:, :n], g()\n"
    for text in (readable_function(source, "f"), readable_function(index, "f")):
        assert text is None or ast.parse(text)
