def called(a, b, c, y):
    return a(b if y else c)


def spread(a, b, c, y):
    a(*b if y else c)


def keywords(a, b, c, y):
    return a(**b if y else c)


def added(x, b, c, y):
    return x + (b if y else c)


def apart(a, b, c, y):
    if y:
        return a(b)
    return a(c)


def none_at_the_end(z, c):
    assert z != c is not None
    assert z(*c) == c is None
