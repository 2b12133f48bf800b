def stars(a, b, c):
    one = [*a, *b]
    two = *a, b
    three = {*a, *b}
    four = {**a, "k": b, **c}
    f(*a, **b)
    f(a, *b, c, *a)
    f(a, *b, k=c, **a, m=b, **c)
    f(*a, k=1)
    first, *rest = a
    *init, last = a
    x, (y, *z), *w = b
    return *a, *b


def in_subscript(a, b):
    return a[b, :], a[1:2, ::3], a[...], a[b:][:-1]
