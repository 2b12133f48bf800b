def named_twice(a, g):
    a, b = f(a), (b := g(a))
    return a, b


def of_three(a, g):
    a, b, c = f(a), (b := g(a)), a
    return a, b, c


def both(a, g):
    a, b = (a := g()), (b := g(a))
    return a, b


def another(a, g):
    a, b = (c := g()), g(c)
    return a, b, c


def to_an_attribute(a, g):
    a.x, b = f(a), (b := g(a))
    a[b], b = (c := g()), g(c)
    return a, b


def chained(a, g):
    a, b = b, a = g(), (b := g(a))
    x = a, b = f(a), (b := g(a))
    return x
