"""A return after a `with` in a handler is copied for what its manager suppresses (3.12, 3.13)."""


def f(g):
    try:
        f()
    except E:
        with g:
            f()
        return 1


def generates(g):
    try:
        return f()
    except E:
        with g as h:
            yield h
            x = 1
        return x


def suppresses(g):
    try:
        f()
    except E as e:
        with g, e:
            if f():
                return 2
            h()
        return 1
