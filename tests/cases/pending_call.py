# known ugly: 3.9 keywords: UNVERIFIED original CALL_EX (1, True) and recompiled CALL_EX (1, True): lifetimes differ: __temp_3 still holds an object that the original has released -- the temporary holds an operand until the statement after; the original drops it first
# known ugly: 3.11 keywords: UNVERIFIED original CALL_EX (2, True) and recompiled CALL_EX (2, True): lifetimes differ: __temp_4 still holds an object that the original has released -- the temporary holds an operand until the statement after; the original drops it first
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
