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
