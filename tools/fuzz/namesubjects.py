"""Functions whose names are changed (``mutantnames``), and the calls that show what they do.

It runs in every interpreter from 3.8 on: ``python namesubjects.py`` reads requests, a line of JSON each, and answers so.
"""

import json
import marshal
import random
import re
import sys
import types

PLAIN = """
def arithmetic(a, b=2, *rest, key=3, **more):
    t = a * b + 1
    u = [t, a, b, key, rest, sorted(more)]
    del t
    return u
def annotated(a: int, b: "text" = 2, *rest: str, key: int = 3, other: len = 4, **more: dict) -> list:
    t = [a, b, key, other, rest, sorted(more)]
    return t
def loops(n, items):
    found = []
    for i in range(n):
        for j, item in enumerate(items):
            if item == i:
                continue
            found.append((i, j, item))
            if len(found) > 6:
                break
        else:
            found.append(i)
    while n > 0:
        n -= 1
        found.append(n)
    return found, n
def handlers(value, table):
    log = []
    try:
        log.append(table[value])
        extra = 10 // value
    except KeyError as error:
        log.append(type(error).__name__)
        extra = 1
    except ZeroDivisionError as error:
        log.append(str(error))
        extra = 2
    finally:
        log.append(value)
    return log, extra
def counter(start):
    total = start
    step = 1
    def add(amount):
        nonlocal total
        total += amount * step
        return total
    def reset(amount, other):
        nonlocal total, step
        total, step = amount, other
        return lambda more: (total, step, more, amount)
    return add(2), add(3), reset(5, 4)(1), add(1)
def deep(x, y):
    def middle(z):
        def inner(w):
            return x, y, z, w
        return inner
    return middle(3)(4), middle(x)(y)
def comprehensions(xs, y):
    a = [x + y for x in xs]
    b = {x: y for x in xs if x}
    c = sorted({x * z for x in xs for z in (1, y)})
    d = list(x for x in a if x > y)
    e = [lambda: x for x in xs]
    return a, b, c, d, [f() for f in e], [[x for x in range(y)] for y in xs]
def generator(n):
    for i in range(n):
        got = yield i
        if got:
            n = got
    return n
def drive(n):
    g = generator(n)
    return list(g), next(generator(2)), list(delegate(n))
def delegate(n):
    m = yield from generator(n)
    yield m
def unpack(pairs):
    (a, b), *c = pairs
    a, b = b, a
    d = e = a
    return a, b, c, d, e
def klass(base, value):
    z = value
    class Thing(base):
        own = z
        def method(self, other=z):
            return self.own, other, value, [n for n in range(z)]
        def lower(self):
            return super().__init__(), __class__.__name__ != ""
    return Thing().method(), Thing().lower()
def managers(m, n):
    with m as one, m as two:
        three = one + two + n
    return three
def names(a):
    b = a
    c = b
    return sorted(locals())
def builtins_used(a, b):
    t = len(a)
    u = max(t, b)
    return print, t, min(u, b), str(u), list(map(lambda v: abs(v) + len(a), a))
async def coroutine(a, b):
    x = await pause(a)
    y = [i async for i in agen(b)]
    async for z in agen(2):
        x += z
    return x, y
async def agen(n):
    for i in range(n):
        yield i
class Awaited:
    def __init__(self, value):
        self.value = value
    def __await__(self):
        yield self.value
        return self.value
def pause(value):
    return Awaited(value)
def run(a, b):
    c = coroutine(a, b)
    seen = []
    try:
        while True:
            seen.append(c.send(None))
    except StopIteration as stop:
        return seen, stop.value
def decorated(a):
    def twice(f):
        def call(x):
            return f(f(x))
        return call
    @twice
    def plus(x):
        return x + a
    @twice
    @twice
    def times(x):
        return x * a
    return plus(1), times(1), twice(lambda x: x - a)(0)
"""
LATER = {
    (3, 10): '''
def matching(value):
    match value:
        case [a, b]:
            return a, b
        case {"k": c, **rest}:
            return c, rest
        case (int() | str()) as d if d:
            return d
        case e:
            return [e]
''',
    (3, 11): '''
def groups(n):
    found = []
    try:
        raise ExceptionGroup("g", [ValueError(n), TypeError(n)])
    except* ValueError as error:
        found.append(len(error.exceptions))
    except* TypeError as error:
        found.append(str(n))
    return found
''',
    (3, 12): '''
def generic(n):
    def first[T](x: T, y=n) -> T:
        return x, y, n
    class Box[T]:
        size = n
        def get(self):
            return self.size, n
    return first(1), Box().get()
''',
}  # fmt: skip
CALLS = [
    ("arithmetic", "1, 2"), ("arithmetic", "3"), ("arithmetic", "1, 2, 3, 4"), ("annotated", "1"), ("annotated", "1, 2, 3"), ("loops", "3, [0, 1, 9]"), ("loops", "0, []"),
    ("handlers", "1, {1: 2}"), ("handlers", "0, {0: 2}"), ("handlers", "5, {}"), ("counter", "10"), ("deep", "1, 2"),
    ("comprehensions", "[0, 1, 2], 1"), ("drive", "3"), ("drive", "0"), ("unpack", "[(1, 2), 3, 4]"), ("klass", "object, 7"),
    ("managers", "Manager(), 5"), ("names", "1"), ("builtins_used", "[1, -2], 3"), ("run", "1, 2"), ("decorated", "5"),
    ("matching", "[1, 2]"), ("matching", "{'k': 1, 'l': 2}"), ("matching", "3"), ("matching", "0"), ("groups", "4"),
    ("generic", "6"),
]  # fmt: skip
POOL = [
    *(
        "a",
        "b",
        "x",
        "len",
        "self",
        "I",
        "IlIl",
        "",
        "a b",
        "if",
        "None",
        "__debug__",
        "\ufb01",
        "__x",
        "_",
        "__class__",
        "a_2",
        "\xe9",
    ),
    *(".0", "<lambda>", "print", "range", "lambda", "T"),
]
CODE_NAMES = ["I", "", "a b", "<lambda>", "if", "None", "<listcomp>", "<genexpr>", "<module>", "__x", "f"]
_TOKEN = re.compile(rb"[\x5a\x7a\xda\xfa]\x09(zQ[0-9]{5}QZ)")


class Manager:
    def __enter__(self):
        return 1

    def __exit__(self, *what):
        return False


def source():
    """The functions, as far as this interpreter has their syntax."""
    return PLAIN + "".join(text for version, text in LATER.items() if version <= sys.version_info[:2])


class Renamer:
    """Random names for the variables and the code nested in a module.

    Variables get tokens first, which keep their slots; then the tokens are exchanged where marshal has written them.
    """

    def __init__(self, seed):
        self.pick = random.Random(seed)
        self.names = {}
        self.style = self.pick.choice(("one", "few", "any", "swapped", "mixed", "code"))

    def token(self, name):
        token = "zQ%05dQZ" % len(self.names)
        self.names[token] = name
        return token

    def changed(self, names):
        """Other names for these; one for all, a few, any, or the same in another order."""
        pick = self.pick
        style = pick.choice(("one", "few", "any", "swapped", "kept")) if self.style == "mixed" else self.style
        if style == "one":
            return [pick.choice(POOL)] * len(names) if pick.random() < 0.5 else ["I"] * len(names)
        if style == "few":
            few = [pick.choice(POOL) for _ in range(3)]
            return [pick.choice(few) for _ in names]
        if style == "any":
            return [pick.choice(POOL) if pick.random() < 0.5 else name for name in names]
        if style == "swapped":
            return pick.sample(names, len(names))
        return names

    def nested(self, code, depth=0):
        consts = tuple(self.nested(c, depth + 1) if isinstance(c, types.CodeType) else c for c in code.co_consts)
        changes = {"co_consts": consts}
        if depth:
            own = list(dict.fromkeys(code.co_varnames + code.co_cellvars))
            new = self.changed(own + list(code.co_freevars))
            if self.pick.random() < 0.9:  # defaults are kept by name
                keyword_only = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
                new = [old if old in keyword_only else name for old, name in zip(own, new)] + new[len(own) :]
            tokens = dict(zip(own, map(self.token, new)))
            changes["co_varnames"] = tuple(tokens[name] for name in code.co_varnames)
            changes["co_cellvars"] = tuple(tokens[name] for name in code.co_cellvars)
            changes["co_freevars"] = tuple(map(self.token, new[len(own) :]))
            if self.style in ("code", "mixed") and self.pick.random() < 0.5:
                name = self.pick.choice(CODE_NAMES)
                changes["co_name"] = name
                if sys.version_info >= (3, 11) and self.pick.random() < 0.7:
                    changes["co_qualname"] = self.pick.choice([name, code.co_qualname, "q"])
        if depth and self.style == "mixed" and self.pick.random() < 0.2:
            changes["co_names"] = tuple(
                self.pick.choice(["a", "x", "I", n]) if self.pick.random() < 0.2 else n for n in code.co_names
            )
        return code.replace(**changes)

    def written(self, code):
        def exchange(found):
            name = self.names[found[1].decode()]
            kind, data = found[0][0], name.encode("utf-8", "surrogatepass")
            if name.isascii():
                return bytes((kind, len(data))) + data
            return bytes((ord("u") | kind & 0x80,)) + len(data).to_bytes(4, "little") + data

        return _TOKEN.sub(exchange, marshal.dumps(self.nested(code)))


def make(seed):
    """Marshal data of the module with other names.

    Only up to 3.10 names themselves say which parameters are cells.
    """
    return Renamer(seed).written(compile(source(), "names", "exec"))


def outcome(space, name, arguments):
    """What a call returns or raises, as text."""
    try:
        return re.sub(r" at 0x[0-9a-f]+", "", repr(eval("%s(%s)" % (name, arguments), space)))
    except Exception as error:
        return type(error).__name__


def outcomes(code):
    """Those of all calls, and how the module itself ends."""
    space = {"__name__": "subject", "Manager": Manager}
    try:
        exec(code, space)
    except Exception as error:
        return {"": repr(error)}
    return {"%s(%s)" % call: outcome(space, *call) for call in CALLS}


def answer(request):
    if "seed" in request:
        return make(request["seed"]).hex()
    original = outcomes(marshal.loads(bytes.fromhex(request["code"])))
    text = outcomes(compile(request["text"], "text", "exec"))
    if "" in text:
        return {} if original == text else {"": [original.get(""), text[""]]}
    return {call: [end, text.get(call)] for call, end in original.items() if end != text.get(call)}


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
