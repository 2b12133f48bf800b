# ruff: noqa: B008, B028, C417, E741, F841
"""Functions that break their graph in every place and every kind of statement, for what is written in Dynamo's place.

``CALLS`` maps a name to a call of one of them: it takes ``compiled(fn)`` and runs it.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import enum
import functools
import logging
import random
import threading
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn


def graph_break():
    torch._dynamo.graph_break()


G_COUNT = 0
LOG = []


def return_in_with_behind_a_break(a):
    with torch.no_grad():
        graph_break()
        return a.sin()


def break_in_two_withs(a):
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        b = a @ a.T
        graph_break()
        for item in range(3):
            if item == 2:
                break
            b = b + item
    return b.float() + a


def break_in_a_with_in_a_with(a, flag=True):
    with torch.enable_grad():
        with torch.no_grad():
            b = a * 2
            graph_break()
            if flag:
                return b + 1
        c = b - 1
    return c


def break_with_a_result_that_is_kept(a, n=2):
    b = a.sin()
    c = not_compiled(b, n)
    return b + c


@torch._dynamo.disable
def not_compiled(b, n):
    return b * n


def break_before_none_in_with(a, b=None):
    with torch.no_grad():
        c = a + 1
        graph_break()
        parts = [t for t in (c, a, b) if t is not None]
        d = sum(parts)
    d = d * 2
    with torch.no_grad():
        graph_break()
        d = d + 1
    return d, (lambda q: q + d)(a)


def break_before_none_in_try(a, b=None):
    graph_break()
    try:
        c = a if b is None else b
        if c is not a:
            raise KeyError
        while b is not None:
            b = c
    except KeyError:
        c = -a
    return c


def break_in_with(a):
    with torch.no_grad():
        b = a * 2
        graph_break()
        b = b + 1
    return b + a


def break_in_try(a):
    try:
        b = a.sin()
        graph_break()
        if b.sum() > 100:
            raise ValueError(b)
        c = b + 1
    except ValueError:
        c = b - 1
    finally:
        d = c * 2
    return d


def break_in_loop(a, n):
    out = []
    for i in range(n):
        a = a + i
        if i % 2:
            print("odd", i)
        out.append(a)
    return torch.stack(out), len(out)


def globals_mut(a):
    global G_COUNT
    G_COUNT += 1
    LOG.append(a.shape)
    b = a * G_COUNT
    if b.mean() > 0:
        LOG.clear()
        return b.relu()
    LOG.extend([1, 2, 3])
    return b


def closure(a):
    acc = []
    total = 0

    def add(v):
        nonlocal total
        total += 1
        acc.append(v * total)
        return total

    for k in range(3):
        add(a + k)
    graph_break()
    add(a)
    return sum(acc), total


def gen(a):
    def g():
        for i in range(3):
            yield a * i

    return [v + 1 for v in g()]


@dataclasses.dataclass
class P:
    w: torch.Tensor
    n: int = 0
    tags: list = dataclasses.field(default_factory=list)


def dc(p: P):
    p.n += 1
    q = P(p.w * 2, p.n, [*p.tags, "x"])
    p.tags.append("seen")
    if q.w.sum() > 0:
        q.n = -1
    return q


class E(enum.Enum):
    A = 1
    B = 2


def en(a, e):
    r = {E.A: a + 1, E.B: a - 1}[e]
    print(e)
    return r * 2


def kw(*args, scale=2, **kws):
    t = sum(args) * scale
    for k, v in kws.items():
        t = t + v if k.startswith("add") else t - v
    print(sorted(kws))
    return t, kws


def npy(a):
    n = a.numpy()
    m = np.sin(n) + 1
    return torch.from_numpy(m) * a


def itm(a):
    k = a.sum().item()
    if k > 0:
        return a * k
    return a - k


def multi(a, b):
    c = a @ b
    if c.sum() > 0:
        c = c.relu()
    elif c.sum() < -1000:
        c = c * 2
    else:
        c = -c
    while c.abs().max() > 1:
        c = c / 2
    return c, a, b


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.ls = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        self.register_buffer("steps", torch.zeros(1))
        self.cache = {}
        self.history = collections.deque(maxlen=3)

    def forward(self, x, *, keep=False):
        outs = ()
        for i, l in enumerate(self.ls):
            x = l(x)
            self.cache[i] = x
            outs += (x,)
            if keep and i == 1:
                self.history.append(x.detach())
        self.steps += 1
        if self.steps.item() > 1:
            self.cache.clear()
        return outs if keep else outs[-1]


def starred(xs):
    first, *rest = xs
    h, (i, j), k = first, (1, 2), rest[0]
    print(i)
    return [*rest, first, *(r + 1 for r in rest)], {"a": h, "b": k}


def nested_break(a):
    def inner(b):
        c = b + 1
        print("inner")
        return c * 2

    d = inner(a) + inner(a - 1)
    return d, inner


def lam(a):
    f = lambda t, k=a: t + k
    print("l")
    return f(a), f


def cm(a):
    @contextlib.contextmanager
    def ctx(v):
        LOG.append("in")
        try:
            yield v + 1
        finally:
            LOG.append("out")

    with ctx(a) as b:
        c = b * 2
    return c


def asserts(a):
    assert a.sum() > -1e9, "bad"
    b = a * 2
    assert b.shape[0] == 4
    return b


def rnd(a):
    return a * random.random() + torch.rand_like(a)


def sets(a, names):
    s = {n.upper() for n in names}
    if "A" in s:
        a = a + 1
    s.add("Q")
    print(len(s))
    return a, s


def slices(a, i):
    a = a.clone()
    a[i] = 0
    a[1:, ::2] += 1
    a[a > 0] = 3
    print(a[..., None].shape)
    a[:, -1], a[:, 0] = a[:, 0].clone(), a[:, -1].clone()
    return a


def early(a, flags):
    for f in flags:
        if f == "skip":
            continue
        if f == "stop":
            break
        print(f)
        a = a + 1
    else:
        return a * 100
    return a


class WithProp:
    def __init__(self):
        self._v = 1
        self.t = torch.ones(4)

    @property
    def v(self):
        return self._v

    @v.setter
    def v(self, k):
        self._v = k

    def __call__(self, a):
        self.v = self.v + 1
        self.t = self.t + a
        print(self.v)
        self.v *= 2
        return self.t * self.v


def chain(a):
    y = x1 = a + 1
    z = (y, x1, y)
    print("c")
    return z, y is x1


def delete(a):
    b = a + 1
    c = b * 2
    del b
    print("d")
    d = c + 1
    del c
    return d


def b_in_nested_for(a):
    t = 0
    for i in range(2):
        for j in range(2):
            graph_break()
            t = t + a * i * j
        else:
            t = t + 1
    return t


def b_in_while(a, n):
    i = 0
    while i < n:
        a = a + 1
        graph_break()
        if a.sum() > 20:
            break
        i += 1
    return a, i


def b_in_comp(a):
    return [graph_break() or a + i for i in range(2)]


def b_in_dict(a):
    return {"x": a + 1, "y": [a, graph_break(), {"z": a - 1}]}


def b_in_call(a):
    return torch.add(a.sin(), (graph_break(), a.cos())[1], alpha=2)


def b_in_cond_expr(a):
    return a.sin() if a.sum() > 0 else a.cos() if a.mean() < -5 else a.tan()


def b_in_boolop(a):
    return (a.sum() > 100) or (a.sum() < -100) or a * 2


def b_in_subscript(a, d):
    d["k"][graph_break() is None] = a
    d["k"][0] += 1
    return d


def b_in_fstring(a):
    s = f"{a.sum().item():.1f}-{a.shape!r}"
    return a * len(s), s


def b_in_kwcall(a):
    def g(u, *, v=1, **w):
        return u + v + sum(w.values())

    return g(a, v=a.sum().item(), q=(graph_break(), 2)[1])


def b_star(a):
    xs = [a, a]
    return torch.stack([*xs, *(graph_break(), a)[1:]]), torch.cat((a, *xs))


def b_lambda_default(a):
    f = lambda t, s=a.sum(): t * s
    graph_break()
    g = functools.partial(f, s=2)
    return f(a) + g(a)


def b_unpack(a):
    (p, q), *r = (a, a + 1), a + 2, a + 3
    graph_break()
    p, q = q, p
    r[0], r[1] = r[1], r[0]
    return p - q, r


def b_aug(a):
    b = a.clone()
    b += 1
    graph_break()
    b *= 2
    b[0] -= 3
    return b


def b_with_two(a):
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        c = a @ a
        graph_break()
        c = c + 1
    return c


def b_with_inlined(a):
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        b = a @ a
        torch._dynamo.graph_break()
        c = b @ a
    return c.float()


def b_loop_else(a):
    for i in range(5):
        a = a + 1
        if a.sum() > 40:
            break
        a = a * 1.1 + i
    else:
        a = -a
    return a, i


def b_with_as(a):
    with torch.autograd.profiler.record_function("hey") as h:
        c = a + 1
    graph_break()
    return c


def b_nested_try(a):
    try:
        try:
            graph_break()
            raise KeyError("k")
        except KeyError:
            a = a + 1
            graph_break()
        else:
            a = a - 1
    finally:
        a = a * 2
    return a


def b_raise(a):
    if a.sum() > 1e9:
        raise RuntimeError("too big")
    try:
        [][1]
    except IndexError as e:
        graph_break()
        return a, str(e)


def b_gen_expr(a):
    graph_break()
    return sum(a * i for i in range(3))


def gen_fn(a):
    for i in range(2):
        yield a + i


def b_yield(a):
    out = []
    for v in gen_fn(a):
        graph_break()
        out.append(v)
    return out


def b_class(a):
    class K:
        def __init__(self, t):
            self.t = t

        def go(self):
            return self.t + 1

    k = K(a)
    graph_break()
    return k.go()


def b_super():
    class A(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(4))

        def forward(self, x):
            return x * self.w

    class B(A):
        def forward(self, x):
            y = super().forward(x)
            print("b")
            return y + 1

    m = B()
    return m


def b_hook(a):
    out = a * 2
    a.register_hook(lambda g: g * 2) if a.requires_grad else None
    graph_break()
    return out


_lock = threading.Lock()


def b_lock(a, n):
    b = a * n
    with _lock:
        b = b + 1
    return b.cos()


def b_function_made_late(fn):
    def outer(a):
        b = a + 1
        print("b")
        return fn(b) * 2

    return outer


def b_closure_made_after(a, k):
    def before(w):
        nonlocal k
        k += 1
        return w + k

    a = before(a)
    graph_break()

    def after(w):
        return before(w) + k

    return after(a), k


def b_branch_in_closure(a, k):
    scale = k * 2

    def inner(x):
        nonlocal scale
        scale += 1
        if x.sum() > 0:
            return x * scale
        return x - scale

    def middle(x):
        y = inner(x)
        return y + scale

    return middle(a) + scale, middle


def b_of_its_class(a, box):
    made = box.__class__(torch.relu if float(a.sum().item()) > 0 else torch.sin)
    return made.fn(a)


def b_call_with_keywords(a, *rest, **options):
    def called(x, *more, scale=1, **others):
        graph_break()
        return x * scale + len(more) + len(others)

    return called(a, *rest, scale=2, **options)


def b_generator_over_a_break(a, box):
    box.first, box.second = (t + 1 for t in _broken_pair(a, box))
    return box.first * box.second


def b_dead_where_it_branches(a, n):
    last = a * 2
    kept = []
    for _ in range(n):
        a = last.sin()
        kept.append(a)
        if (a > 100).all():
            break
        last = a + 1
    return a, kept


def _broken_pair(a, box):
    graph_break()
    return [a, a * box.scale]


class _Wrapped(torch.nn.Module):
    def __init__(self, fn):
        super().__init__()
        self.fn = fn


def b_module_made(a, fn, items):
    made = _Wrapped(fn)
    if len(items) > 1:
        return items, made, a
    graph_break()
    return made, [a, items]


def b_inner_mut(a, lst, d):
    lst.append(a + 1)
    lst[0] = a
    del lst[1:2]
    d.setdefault("n", []).append(a)
    d["m"] = d.pop("o", None)
    graph_break()
    lst.insert(0, a)
    lst.reverse()
    return lst, d


def b_dd(a):
    d = collections.defaultdict(list)
    d["a"].append(a)
    o = collections.OrderedDict(x=a)
    o.move_to_end("x")
    c = collections.Counter("aab")
    nt = collections.namedtuple("NT", "p q")(a, 1)
    graph_break()
    return d, o, c, nt._replace(q=2)


def b_match(a, cmd):
    match cmd:
        case {"op": "add", "v": v}:
            r = a + v
        case ["mul", v, *_]:
            r = a * v
        case str() as s:
            r = a * len(s)
        case _:
            r = a
    graph_break()
    return r


def b_walrus(a):
    if (n := a.shape[0]) > 2 and (m := a.sum()) > -1e9:
        graph_break()
        return a * n + m
    return a


def b_global_fn(a):
    warnings.warn("w")
    logging.getLogger("z").info("x")
    return a + 1


def b_setattr(a, ns):
    ns.y = a + 1
    ns.z = a
    graph_break()
    ns.y += ns.z
    del ns.z
    return ns.y


def b_chain_cmp(a):
    k = a.shape[0]
    graph_break()
    return a if 1 < k <= 4 < 10 else -a


def b_multi_ret(a, n):
    if n == 0:
        return a
    if n == 1:
        graph_break()
        return a + 1
    elif n == 2:
        b = a + 2
        graph_break()
        return b
    graph_break()
    for i in range(n):
        if i == 3:
            return a * i
    return None


def b_deep(a):
    def f1(v):
        def f2(u):
            graph_break()
            return u + v

        return f2(v) * 2

    return f1(a) + 1


def b_closure_loop(a):
    fs = []
    for i in range(3):
        fs.append(lambda t, i=i: t + i)
    graph_break()
    return [f(a) for f in fs]


def b_nonlocal(a):
    n = 0

    def inc(k=1):
        nonlocal n, a
        n += k
        a = a + n

    inc()
    graph_break()
    inc(2)
    graph_break()
    inc(k=3)
    return a, n


def b_bigargs(a, *, p=1, q=2, r=3, s=4, t=5):
    z = a + p * q - r / s
    graph_break()
    return z * t, p, q, r, s


def b_slices(a):
    graph_break()
    return a[..., 1:3, None], a[::2], a[:, -1:], a[[0, 1]]


def b_inplace(a, b):
    a.add_(1)
    b.mul_(a)
    graph_break()
    b.resize_(2, 8) if b.numel() == 16 else None
    return a


def b_str(a, name):
    k = name.upper() + "_%d" % a.shape[0] + f"{a.dim()}"
    print(k)
    return a, k


def b_del_item(a, d):
    del d["gone"]
    graph_break()
    return a * len(d)


def b_isinstance(a, o):
    if isinstance(o, (int, float)):
        a = a * o
    elif o is None:
        a = a - 1
    print(type(o).__name__)
    return a


def b_zip(a):
    r = []
    for i, (u, v) in enumerate(zip([a, a + 1], [a * 2, a * 3], strict=True)):
        r.append(u * i + v)
        if i == 0:
            graph_break()
    return list(map(lambda t: t.sum(), r)), sorted([3, 1, 2], key=lambda q: -q), any(r_ is None for r_ in r)


def _x():
    return torch.linspace(-1.0, 2.0, 16).reshape(4, 4)


def _decorated(f):
    def wrapper(*a, **k):
        with torch.profiler.record_function("decorated"):
            r = f(*a, **k)
        return r

    return wrapper


@_decorated
def b_decorated(x, flag=False):
    y = x.sin()
    if flag:
        print("flag")
    return y + 1


def _noisy(t, k):
    print("noisy", k)
    return t + k


def b_comprehensions(xs):
    """On Python 3.10 an iterator is passed to what is no comprehension any more."""
    return [_noisy(x, i) for i, x in enumerate(xs)], {i: (lambda v: v * 2)(x) for i, x in enumerate(xs)}


def b_data_while(x, limit):
    n = 0
    while x.norm() > limit:
        x = x * 0.5
        n += 1
        if n > 10:
            break
    else:
        return x, "fine"
    return x, n


def b_items(batch):
    a, *rest = batch["t"]
    k = batch["d"].pop("k", None)
    print(len(rest))
    batch["t"] = [r * 2 for r in rest] + [a]
    return sum(batch["t"]), k


@dataclasses.dataclass
class _Run:
    h: torch.Tensor
    steps: int = 0
    log: list = dataclasses.field(default_factory=list)


def b_history(run, history):
    """What was read from a list before it is written stands in variables named after it."""
    r = run.h.sum()
    run.steps += 1
    run.log.append(r)
    history.append(run.h)
    if len(run.log) > 2:
        print(run.steps)
        r = r + run.log[-2]
    return r, dataclasses.replace(run, h=run.h * 2)


def goes_on_uncompiled(a, labels, **options):
    """The last variable that gets its value from Dynamo's list is the last thing done with the list."""
    y = torch.sin(a)
    pair = P(y)
    y = pair.w + 1
    torch._dynamo.step_unsupported()
    return pair.w * y * labels, options


CALLS: dict[str, Callable[[Callable[[Any], Any]], Any]] = {
    "goes_on_uncompiled": lambda compiled: compiled(goes_on_uncompiled)(_x(), _x(), n=3),
    "break_in_with": lambda compiled: compiled(break_in_with)(_x()),
    "return_in_with_behind_a_break": lambda compiled: compiled(return_in_with_behind_a_break)(_x()),
    "break_in_two_withs": lambda compiled: compiled(break_in_two_withs)(_x()),
    "break_with_a_result_that_is_kept": lambda compiled: compiled(break_with_a_result_that_is_kept)(_x()),
    "break_before_none_in_with": lambda compiled: compiled(break_before_none_in_with)(_x()),
    "break_before_none_in_try": lambda compiled: compiled(break_before_none_in_try)(_x()),
    "break_in_a_with_in_a_with": lambda compiled: compiled(break_in_a_with_in_a_with)(_x()),
    "break_in_try": lambda compiled: compiled(break_in_try)(_x()),
    "break_in_loop": lambda compiled: compiled(break_in_loop)(_x(), 4),
    "globals_mut": lambda compiled: compiled(globals_mut)(_x()),
    "globals_mut_2": lambda compiled: compiled(globals_mut)(-_x()),
    "closure": lambda compiled: compiled(closure)(_x()),
    "gen": lambda compiled: compiled(gen)(_x()),
    "dc": lambda compiled: compiled(dc)(P(_x())),
    "en": lambda compiled: compiled(en)(_x(), E.A),
    "kw": lambda compiled: compiled(kw)(_x(), _x(), scale=3, add1=_x(), sub=1.5),
    "npy": lambda compiled: compiled(npy)(_x()),
    "itm": lambda compiled: compiled(itm)(_x()),
    "multi": lambda compiled: compiled(multi)(_x(), _x()),
    "stack": lambda compiled: compiled(Stack())(_x()),
    "stack_2": lambda compiled: compiled(Stack())(_x(), keep=True),
    "starred": lambda compiled: compiled(starred)([_x(), _x(), _x()]),
    "nested_break": lambda compiled: compiled(nested_break)(_x()),
    "lam": lambda compiled: compiled(lam)(_x()),
    "cm": lambda compiled: compiled(cm)(_x()),
    "asserts": lambda compiled: compiled(asserts)(_x()),
    "rnd": lambda compiled: compiled(rnd)(_x()),
    "sets": lambda compiled: compiled(sets)(_x(), ["a", "b"]),
    "slices": lambda compiled: compiled(slices)(_x(), 2),
    "early": lambda compiled: compiled(early)(_x(), ["go", "skip", "go", "stop", "go"]),
    "early_2": lambda compiled: compiled(early)(_x(), ["go"]),
    "withprop": lambda compiled: compiled(WithProp())(_x()[0]),
    "chain": lambda compiled: compiled(chain)(_x()),
    "delete": lambda compiled: compiled(delete)(_x()),
    "b_in_nested_for": lambda compiled: compiled(b_in_nested_for)(_x()),
    "b_in_while": lambda compiled: compiled(b_in_while)(_x(), 3),
    "b_in_comp": lambda compiled: compiled(b_in_comp)(_x()),
    "b_in_dict": lambda compiled: compiled(b_in_dict)(_x()),
    "b_in_call": lambda compiled: compiled(b_in_call)(_x()),
    "b_in_cond_expr": lambda compiled: compiled(b_in_cond_expr)(_x()),
    "b_in_boolop": lambda compiled: compiled(b_in_boolop)(_x()),
    "b_in_subscript": lambda compiled: compiled(b_in_subscript)(_x(), {"k": [1, 2]}),
    "b_in_fstring": lambda compiled: compiled(b_in_fstring)(_x()),
    "b_in_kwcall": lambda compiled: compiled(b_in_kwcall)(_x()),
    "b_star": lambda compiled: compiled(b_star)(_x()),
    "b_lambda_default": lambda compiled: compiled(b_lambda_default)(_x()),
    "b_unpack": lambda compiled: compiled(b_unpack)(_x()),
    "b_aug": lambda compiled: compiled(b_aug)(_x()),
    "b_with_two": lambda compiled: compiled(b_with_two)(_x()),
    "b_with_inlined": lambda compiled: compiled(b_with_inlined)(_x()),
    "b_loop_else": lambda compiled: compiled(b_loop_else)(_x()),
    "b_with_as": lambda compiled: compiled(b_with_as)(_x()),
    "b_nested_try": lambda compiled: compiled(b_nested_try)(_x()),
    "b_raise": lambda compiled: compiled(b_raise)(_x()),
    "b_gen_expr": lambda compiled: compiled(b_gen_expr)(_x()),
    "b_yield": lambda compiled: compiled(b_yield)(_x()),
    "b_class": lambda compiled: compiled(b_class)(_x()),
    "b_super": lambda compiled: compiled(b_super())(_x()),
    "b_hook": lambda compiled: compiled(b_hook)(_x().clone().requires_grad_()),
    "b_inner_mut": lambda compiled: compiled(b_inner_mut)(_x(), [1, 2, 3], {"o": 1}),
    "b_dd": lambda compiled: compiled(b_dd)(_x()),
    "b_match": lambda compiled: compiled(b_match)(_x(), {"op": "add", "v": 2}),
    "b_match_2": lambda compiled: compiled(b_match)(_x(), ["mul", 3, 4]),
    "b_match_3": lambda compiled: compiled(b_match)(_x(), "q"),
    "b_walrus": lambda compiled: compiled(b_walrus)(_x()),
    "b_global_fn": lambda compiled: compiled(b_global_fn)(_x()),
    "b_setattr": lambda compiled: compiled(b_setattr)(_x(), types.SimpleNamespace()),
    "b_chain_cmp": lambda compiled: compiled(b_chain_cmp)(_x()),
    "b_multi_ret": lambda compiled: compiled(b_multi_ret)(_x(), 0),
    "b_multi_ret_2": lambda compiled: compiled(b_multi_ret)(_x(), 1),
    "b_multi_ret_3": lambda compiled: compiled(b_multi_ret)(_x(), 2),
    "b_multi_ret_4": lambda compiled: compiled(b_multi_ret)(_x(), 3),
    "b_multi_ret_5": lambda compiled: compiled(b_multi_ret)(_x(), 4),
    "b_deep": lambda compiled: compiled(b_deep)(_x()),
    "b_closure_loop": lambda compiled: compiled(b_closure_loop)(_x()),
    "b_lock": lambda compiled: compiled(b_lock)(_x(), 2),
    "b_function_made_late": lambda compiled: compiled(b_function_made_late(torch.sin))(_x()),
    "b_closure_made_after": lambda compiled: compiled(b_closure_made_after)(_x(), 2),
    "b_branch_in_closure": lambda compiled: compiled(b_branch_in_closure)(_x(), 2)[0],
    "b_of_its_class": lambda compiled: compiled(b_of_its_class)(_x(), _Wrapped(torch.cos)),
    "b_call_with_keywords": lambda compiled: compiled(b_call_with_keywords)(_x(), 1, 2, flag=3),
    "b_dead_where_it_branches": lambda compiled: compiled(b_dead_where_it_branches)(_x(), 3)[0],
    "b_generator_over_a_break": lambda compiled: compiled(b_generator_over_a_break)(
        _x(), types.SimpleNamespace(scale=2)
    ),
    "b_module_made": lambda compiled: compiled(b_module_made)(_x(), torch.sin, [1, 2]),
    "b_module_made_2": lambda compiled: compiled(b_module_made)(_x(), torch.sin, [1]),
    "b_nonlocal": lambda compiled: compiled(b_nonlocal)(_x()),
    "b_bigargs": lambda compiled: compiled(b_bigargs)(_x(), q=7),
    "b_slices": lambda compiled: compiled(b_slices)(_x()),
    "b_inplace": lambda compiled: compiled(b_inplace)(_x().clone(), _x().clone()),
    "b_str": lambda compiled: compiled(b_str)(_x(), "nm"),
    "b_del_item": lambda compiled: compiled(b_del_item)(_x(), {"gone": 1, "k": 2}),
    "b_isinstance": lambda compiled: compiled(b_isinstance)(_x(), 3),
    "b_isinstance_2": lambda compiled: compiled(b_isinstance)(_x(), None),
    "b_zip": lambda compiled: compiled(b_zip)(_x()),
    "b_decorated": lambda compiled: compiled(b_decorated)(_x(), flag=True),
    "b_comprehensions": lambda compiled: compiled(b_comprehensions)([_x(), _x()]),
    "b_data_while": lambda compiled: compiled(b_data_while)(_x(), 1.0),
    "b_items": lambda compiled: compiled(b_items)({"t": [_x(), _x(), _x()], "d": {"k": 1}}),
    "b_history": lambda compiled: compiled(b_history)(_Run(_x(), 2, [_x(), _x()]), collections.deque([_x()], maxlen=2)),
}
