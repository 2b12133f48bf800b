# versions: 3.11+
def only(f):
    match f:
        case [{"k": _}]:
            pass


def goes_on(f):
    match f:
        case [{"k": _}]:
            pass
    return 1


def after_a_loop(f, h, z):
    match f:
        case h(m=a, n=1) if z:
            for y in a:
                pass
            return y
        case {"k": _}:
            pass
