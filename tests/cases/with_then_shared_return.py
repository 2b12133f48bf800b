"""A ``with`` behind which the function returns, as it does where the ``with`` is not entered."""


def f(g):
    if pg := k():
        with m(g):
            res = all(pg)
            return res
    return g


def f2(g):
    if g:
        with m(g):
            res = all(pg)
            return res
    return g


def f3(g, p):
    if g:
        with m(g):
            p.x += 1
            out = h(g)
            return out
    return g


def f4(g, p):
    with m(g):
        p.x += 1
        out = h(g)
        return out
    return g


def f5(g, p):
    if g:
        with m(g):
            p.x += 1
            return 1
    return g


def f6(g, p):
    if g:
        with m(g):
            return 1
    return g


def in_finally(a, b, c, k):
    a()
    try:
        with b() as t, c(t) as z:
            k(z)
            n = k()
    finally:
        a(n)
