f = lambda x, w: m(x) + (w if x.n == 1 else w.r([i for i in x]))


def chained_message(p):
    assert p.base, p.exp == p.q() == (1, 2)


def chained_raise(p):
    if p:
        raise A(p.exp == p.q() == (1, 2))
    return 1


def stores_around_comprehensions(a):
    b, c = [], [x for x in a]
    d, e, f = [], [x for x in b], [y for y in c]
    return b, c, d, e, f


def comprehension_in_arm(x, w):
    if x:
        w(x)
    return m(x) + (w if x.n == 1 else w.r([i for i in x]))


def comprehension_in_end(x, w):
    return m(x, x.n if w else x.k, [i for i in x])
