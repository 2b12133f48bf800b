def f(a, z):
    h(y, 1 if z else 2)


def g(a, z):
    h(y, q if z else r.s)


def k(a, z):
    return h(y, q if z else r.s)


def m(a, z):
    with a:
        pass
    h(y, 1 if z else None)
