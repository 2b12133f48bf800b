def rest_of_itself(y, x, b):
    (*b,) = y[x] = b
    return b


def many(a, b, x):
    a, b = x.n = a
    (a, b), c = d = x.n = b
    a, b = b, a = a
    x.m = a, b = a
    a = b, c = a
    return a, c, d
