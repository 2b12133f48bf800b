"""A test that goes to ``continue``: before 3.10 the compiler let it go to the head of the loop at once."""


def or_a(fh):
    for line in fh:
        if not line or line.s("#"):
            continue
        k(line)


def or_b(fh):
    for line in fh:
        if not line or line.s("#"):
            continue
        if k(line):
            break


def or_c(fh):
    for line in fh:
        if not line or line.s("#"):
            continue
        if k(line):
            break
    else:
        return True
    return False


def or_e(fh):
    with k:
        for line in fh:
            if not line or line.s("#"):
                continue
            k(line)
            k(line)
    return False


def or_f(fh):
    for line in fh:
        line = 2
        if not line or line.s("#"):
            continue
        k(line)
        if a:
            raise E
        k(line)
        k(line)
        if z:
            break
    return False


def behind_if(xs):
    for u in xs:
        if u:
            if k:
                k()
            continue
        j(u)
        l(u)
