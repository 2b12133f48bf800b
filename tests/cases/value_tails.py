# known ugly: 3.12-3.14 stores_around_comprehensions: FAILED original LIST_APPEND 2 and recompiled LIST_APPEND 2: operand 1 of 2 differs, a list against a list -- two lists are empty where the paths of the loop meet: the proof takes them for one value there
# known unlined: 3.12+ <module>: FAILED original STORE_NAME f and recompiled STORE_NAME lambda_: they do different things
# known ugly: 3.15+ stores_around_comprehensions: FAILED original LIST_APPEND 3 and recompiled LIST_APPEND 3: operand 1 of 2 differs, a list against a list -- two lists are empty where the paths of the loop meet: the proof takes them for one value there
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
