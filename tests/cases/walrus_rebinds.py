def f1(x):
    return g(x, (x := 1))


def f2(y):
    y[(y := items)]


def f3(y):
    y[(y := items)] = 3


def f5(y):
    y[a] += (y := items)


def f6(y):
    y.a += (y := items)


def f8(y):
    y += (y := items)


def f9(y):
    z = y + (y := items)


def f10(y):
    return y[(y := items)].a


def f11(y):
    y[a, (y := 3)] += 1


def f12():
    return y[(y := items())].a


def f13():
    global y
    y[(y := items())] += y


def g1(x):
    return g(x, x, (x := x + 1), x)


def g2(a, items):
    last = None
    for i in items:
        if last != (last := i.key):
            yield i


def g3(n):
    while n > (n := n - g(n)):
        print(n)


def g4(y, c):
    return f(y, 1 if (y := g()) else 2)


def g5(y, c):
    return f(y, (y := g()) and c)


def g6(y, c):
    z = y, (y := c)
    w = [y, *(y := c)]
    v = {y: (y := c)}
    return y.a(y, (y := 1))


def g7(x):
    x[0] = x, (x := 3)


def g8(x, d):
    del d[x, (x := 3)]


def g9(x, y):
    (x, y), z = (y, (x := y)), (y := x)


def g10(x):
    return f"{x}{(x := 1)}{x}"


def g11(x):
    return x < (x := g()) < x


def g12(x):
    assert x, (x := 3)


def g13(x):
    with a(x, (x := b())) as x:
        pass


def g14(x):
    return [x, (x := 1), [x for x in x]]
