"""Functions the wrong edits are applied to.  They are compiled, never run: every name is free."""
# ruff: noqa
# mypy: ignore-errors


def arithmetic(a, b, c):
    return (a + b) * c - a // (b % c) ** 2


def unary(a):
    return -a, +a, ~a, not a


def compare(a, b):
    return a < b, a <= b, a == b, a != b, a is b, a in b, a not in b


def chained(a, b, c):
    if a < b <= c != 7:
        return f(a)
    return g(b)


def short_circuit(a, b, c):
    return (a and b) or (c and not a) or f(b)


def conditional(a, b):
    x = f(a) if a else g(b)
    return x if x is not None else "none"


def constants():
    return 1, 1.0, -0.0, "s", b"b", None, True, 2j, (1, (2, "x"))


def early_return(a, b):
    if a:
        return f(a)
    if b:
        return g(b)
    return h(a, b)


def nested_if(a, b, c):
    if a:
        if b:
            f(1)
        else:
            g(2)
    elif c:
        h(3)
    else:
        k(4)
    return done()


def while_loop(n):
    total = 0
    while n > 0:
        total += n
        n -= step(n)
    return total


def while_else(items):
    while items:
        if items.pop() == 3:
            found(items)
            break
        other(items)
    else:
        missing(items)
    return items


def for_loop(xs):
    out = []
    for x in xs:
        if x.skip:
            continue
        if x.stop:
            break
        out.append(x.value)
    return out


def for_else(xs, key):
    for x in xs:
        if x.key == key:
            result = x.value
            break
    else:
        result = default(key)
    return result


def nested_loops(grid):
    for row in grid:
        for cell in row:
            if cell.bad:
                break
            use(cell)
        else:
            finish(row)
            continue
        abort(row)
        break


def unpack(pair):
    a, b = pair
    (c, d), *rest = f(b, a)
    return a, b, c, d, rest


def swap(a, b, c):
    a, b = b, a
    a, b, c = c, a, b
    return f(a, b, c)


def augmented(o, i):
    o.x += 1
    o[i] -= o.y
    o.items[i + 1] *= 2
    return o


def attributes(o):
    o.a.b = o.c.d
    del o.e
    return o.a.f(o.g)


def subscripts(d, k):
    d[k] = d[k + 1]
    del d[k]
    return d[1:k], d[::2], d[k:], d[k, 1]


def calls_(f, x, y):
    f()
    f(x, y)
    f(x, key=y)
    f(*x, y, **y)
    return f(x)(y)(key=x)


def methods(o, x):
    o.first(x).second(x, 2).third(key=x)
    return o.last()


def keywords(a, b=1, *args, c, d=2, **kwargs):
    return use(a, b, args, c, d, kwargs)


def positional_only(a, b=2, /, c=3):
    return a(b, c)


def containers(a, b):
    return [a, b, 1], (a, b), {a, b}, {a: b, "k": 1}, [*a, b], {**a, "x": b}


def strings(a, b):
    return f"{a}-{b!r:>{a}} {a!s} end" + "x%s" % b


def try_except(x):
    try:
        value = f(x)
        check(value)
    except ValueError:
        value = g(x)
    except (KeyError, TypeError) as error:
        report(error)
        value = None
    else:
        good(value)
    return value


def try_finally(x):
    try:
        opened(x)
        work(x)
    finally:
        close(x)
    return x.result


def try_all(x):
    try:
        start(x)
        step(x)
    except OSError as e:
        log(e)
        raise
    except ValueError:
        raise KeyError(x) from None
    else:
        commit(x)
    finally:
        clean(x)


def try_in_loop(xs):
    for x in xs:
        try:
            prepare(x)
            value = f(x)
        except StopIteration:
            break
        except ValueError:
            continue
        use(value)
    return xs


def return_in_finally_free(x):
    try:
        first(x)
        return second(x)
    except ValueError as e:
        note(e)
    finally:
        third(x)


def nested_try(a):
    try:
        try:
            f(a)
            h(a)
        except KeyError:
            g(a)
        one(a)
    except LookupError:
        two(a)


def raising(a):
    if a.bad:
        raise ValueError(a.name)
    elif a.worse:
        raise TypeError("worse") from a.cause
    assert a.fine, "not fine"
    return a


def with_(path):
    with open(path) as f, lock(path):
        data = f.read()
        use(data)
    return data


def with_return(path):
    with open(path, "rb") as f:
        for line in f:
            if line.startswith(b"#"):
                return line
    return b""


def imports(x):
    import os.path
    from json import dumps as d, loads

    return os.path.join(d(x), loads(x))


def comprehension(xs, n):
    a = [x * n for x in xs if x > n]
    b = {x: y for x, y in a if x if y}
    c = {f(x) for x in b}
    return sum(x + y for x in c for y in a if x != y)


def closure(a, b):
    def inner(c, d=b):
        nonlocal a
        a = a + c
        return a, d

    use(inner)
    return lambda e: (a, e, b)


def decorated(f):
    @f.register
    @f.cache(size=3)
    def g(x: int = 3) -> str:
        return x

    return g


def class_(base):
    class A(base, metaclass=M):
        """Doc."""

        x = 1
        y = f(x)

        def method(self, v):
            self.v = v
            return super().method(v)

    return A


def globals_(x):
    global counter
    counter = counter + x
    other(counter)


def generator(xs):
    for x in xs:
        got = yield x.a
        if got:
            yield got, x
    yield from tail(xs)
    return end(xs)


async def coroutine(a, b):
    async with a.lock as lock:
        async for x in b.items():
            if await x.ready(lock):
                await x.send(b)
    return await b.close()


async def async_generator(xs):
    async for x in xs:
        yield x + 1
    result = [await y for y in xs if await y.ok]
    yield result


def match_(x):
    match x:
        case 1 | 2:
            return one(x)
        case [a, b, *rest] if a > b:
            return two(rest, a)
        case {"k": v, **others}:
            return three(v, others)
        case Point(x=0, y=y):
            return four(y)
        case str() as s:
            return five(s)
        case _:
            return six(x)


def walrus(xs):
    while (x := xs.next()) is not None:
        if (y := f(x)) > 3:
            return x, y
    return x


def delete(a, b):
    c = f(a)
    del a
    g(c, b)
    del b, c
    return h()


def maybe_unbound(a):
    if a:
        x = f(a)
    use(a)
    return x


def annotated(a):
    x: int = f(a)
    y: str
    return x


def bare_except(a):
    try:
        f(a)
        g(a)
    except:
        h(a)
        raise
    k(a)


def loop_with_state(xs):
    first, last = None, 0
    for i, x in enumerate(xs):
        if first is None:
            first = x
        elif i % 2 and x > last:
            last = x
        else:
            first, last = last, first
            notify(i)
    return first, last


def infinite(q):
    while True:
        item = q.get()
        if item is None:
            break
        try:
            handle(item)
        finally:
            q.done()
    q.join()


def flags(a):
    ok = True
    for x in a:
        if not test(x):
            ok = False
            break
    if ok:
        return good(a)
    return bad(a)


def ternaries(a, b, c):
    return f(a if b else c, b if c else a, key=c if a else b)


def lambdas(a):
    first = lambda x, y=a: x + y
    second = lambda *args, **kw: first(*args) - kw["z"]
    return sorted(a, key=lambda p: (p.one, -p.two)), second


def star_args(a, b):
    f(*a)
    g(*a, *b)
    h(1, *a, k=2, **b)
    return [*a, *b], (*b, *a), {*a, 1}


def slices(a, n):
    a[1:2] = a[n:]
    a[:n] += [n]
    return a[-1:], a[n][n]


def recursion(n):
    if n < 2:
        return n
    return recursion(n - 1) + recursion(n - 2)


def handler_names(a):
    try:
        f(a)
    except ValueError as e:
        g(e)
    try:
        h(a)
    except KeyError as e:
        k(e)
    return a


def many_locals(a):
    b = a.b
    c = b.c
    d = c.d(a, b)
    e = d + b
    f = [a, b, c]
    g = (d, e, f)
    return h(b, c, d, e, f, g)
