# known ugly: 3.8-3.10 matched: FAILED a with_start slot is left in an expression
# known ugly: 3.8-3.10 in_clause: FAILED a with_start slot is left in an expression
# known ugly: 3.8-3.10 broken: FAILED a with_start slot is left in an expression
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
