# known ugly: 3.8 <module>: UNVERIFIED original CALL_EX (1, False) and recompiled CALL_EX (1, False): lifetimes differ: __temp_1 still holds an object that the original has released -- the temporary holds an operand until the statement after; the original drops it first
# known ugly: 3.8+ raises: UNVERIFIED original DELEGATE and recompiled DELEGATE: lifetimes differ: __temp_0 still holds an object that the original has released -- the temporary holds an operand until the statement after; the original drops it first
# known ugly: 3.8 inner: UNVERIFIED original CALL_EX (1, False) and recompiled CALL_EX (1, False): lifetimes differ: __temp_1 still holds an object that the original has released -- the temporary holds an operand until the statement after; the original drops it first
def raises():
    try:
        a
    finally:
        yield from b if c else d
        raise e


def inner():
    try:
        if a:
            pass
    finally:
        try:
            b
        except:
            c(d if e else f)
        else:
            c(g, *h and i)
        del j.k


try:
    while a:
        pass
finally:
    c(d if e else f, *g)
