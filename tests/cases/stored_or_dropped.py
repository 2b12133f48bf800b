def stored1(x):
    _, _ = x.f(), x.g()
    return x


def stored2(x):
    _, _, m = x.f(), x.g(), x.h()
    return m


def stored3(x):
    a, _, _, b = x.f(), x.g(), x.h(), x.i()
    return a, b


def stored4(x):
    m, m = x.f(), x.g()
    return m


def stored5(x):
    _, n, _ = x.f(), x.g(), x.h()
    return n


def stored6(x):
    _, _ = x
    return x


def stored7(x):
    _, n, _ = x
    return n


def stored8(x):
    for _, _, n in x:
        k(n)


def dropped1(x):
    for op in x:
        a(op) and b(op)


def dropped2(x):
    with x:
        for op in x:
            a(op) and b(op)


def dropped3(x):
    with x:
        for op in x:
            div, mod = op(x)
            a(op) and b(op)


def dropped4(x):
    with x:
        for dt in x:
            for op in x:
                div, mod = op(x)
                a(op) and b(op)


def dropped5(x):
    for dt in x:
        for op in x:
            a(op) and b(op)


def dropped6(x):
    for dt in x:
        if x:
            a(op) and b(op)


def dropped7(x):
    while x:
        a(op) or b(op)
