def returned(u, x, c, e, o, h, i, j):
    if x:
        return u(c or e if o else h == (i and j))
    if c:
        return u(x, c or e if o else h and i, 3)
    if e:
        return u[c or e if o else (h, i and j)]
    return u(c and e and (h(i) if x else j) if o else i(h in o, j if c else e))


def raised(u, c, e, o, h, i, j):
    try:
        u(c or e if o else (h, i and j))
    except c:
        raise u(c or e if o else h == (i and j))
    finally:
        raise u(c or e if o else h == (i and j))
