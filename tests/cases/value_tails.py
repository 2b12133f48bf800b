# known ugly: 3.9+ original CALL 1 args and recompiled CALL 1 args: operand 1 of 2 differs, a common against a constant
# known unlined: 3.12+ a lambda whose ways share an end needs statements
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
