def raises(a, b):
    if a:
        raise
    if b:
        raise ValueError
    raise TypeError("text") from b


def asserts(a, b, c):
    assert a
    assert a, "message"
    assert a and b, f"{a}"
    assert not a
    assert a or b
    assert a if b else c
    assert a < b < c, (a, b)
    return a
