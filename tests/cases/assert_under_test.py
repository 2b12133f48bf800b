def one(a, g):
    if a:
        assert a.b
    g()


def both(a, b, c, f):
    if a and b:
        assert c, f(a)
    if not a:
        assert not c
    assert not a or b, c
