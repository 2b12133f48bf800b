def returned(a, b, c, d, e, f):
    if a:
        return (a if b else c or d) or e
    if b:
        return (a if b else c and d) or e
    if c:
        return (a or b if c else d) and e
    if d:
        return (a if b else c and d) and e or f
    if e:
        return (a if b else c or d) and e or f
    return a and (b or c) or d < e < f or c


def assigned(a, b, c, d, e, f):
    x = ((a if b else c or d) if e else f) and a
    y = call(a, (b if c or d else e and f) and a, key=(a if b else not c and d) or e)
    z = a or (b if c else d or e) or f
    return x, y, z


def called_in_try(a, b, c, d, e):
    try:
        call((a if b else c and d) and e)
    except ValueError:
        a = b and c or (d if e else a or b) or c
    finally:
        call((a or b) and (c if d else e) and a)
    with (a if b else c or d) or e:
        (a if b else c or d) and e
        call()


def returned_chain(a, b, c, d, e, f):
    if a:
        return a < b < (c if d else e)
    if b:
        return a or b < c < (d if e else f)
    if c:
        return lambda: a < (b or c) < (d if e else f)
    return a and a < b < (c and (d or (e if f else a)))
