def by_break(a, f):
    while True:
        with a, f:
            g
            break
        return z
    x


def by_break_before_class(a, f):
    while True:
        with a:
            g
            break
        return z

    class C:
        pass
