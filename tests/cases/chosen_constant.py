"""``return a if c else b`` is on one line, whatever is constant in it."""


def ratio(a):
    total = a.hits + a.misses
    return a.hits / total if total else 0.0


def found(a):
    return f(a) if a else None


def apart(a):
    if a:
        return f(a)
    return 0.0
