# versions: 3.11+
def returned(a, b, c, d, e, f):
    if a:
        return a or (b if (c if d else e) else f)
    return a and (b if (c if d < e else f) else a)


def returned_by_lambda(a, b, c, d, e, f):
    return lambda: a < b < c if d else e < f
