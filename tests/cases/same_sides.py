"""Both sides of a conditional expression say the same: they are no copies of one statement."""


def f(a, b):
    return b if a else a if b else b


def g(a, b):
    return a if b else b


def h(a, b):
    return b if a else b


def i(a, b):
    k(b if a else b)


def j(a, b, e):
    raise a from e if b else e


def k(a, b, e):
    raise a if b else e


def l(a, b, e):
    raise a(b if b else e) from e


def m(a, b, e):
    if b:
        raise a
    raise a


def written_over_lines(nan):
    t = lambda a, b: b if a else a if b else b
    return t


def test_in_two_places(w):
    while w.master is not None:
        w = w.master
    return w


def ranges(a, b, c, f):
    if c and 1 <= a <= 12 and 1 <= b <= 31 and 0 <= c <= 24:
        return f(a)
    return None
