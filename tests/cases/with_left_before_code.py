def matched():
    with a, b:
        return
    while c:
        d()


def in_clause():
    try:
        a
    except b:
        pass
    except OSError:
        with c:
            return
        raise KeyError


def broken():
    for a.b in c:
        with d, e:
            break
