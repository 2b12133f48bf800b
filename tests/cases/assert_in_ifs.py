# versions: 3.11+
"""An assert in an if in an if, and under one test of both: the indentation tells."""


def one(a, b, x):
    if a:
        if b:
            assert x
    return a


def message(a, b, x):
    if a:
        if b:
            assert x.y and a, "m"
    if a and b:
        assert x, "m"
    return b


def three(a, b, x):
    if a:
        if b:
            if x:
                assert x.y(a)
    return x


def negated(a, b, c, x):
    if a and b:
        if c:
            assert not x
    if a:
        if b and c:
            assert x
    return a


def arms(a, b, c, x):
    if a:
        x()
        if b:
            assert x
    elif b:
        if c:
            assert x
