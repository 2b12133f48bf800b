def in_two(a, b, c):
    if a:
        if b:
            assert (
                c and d
                or e
            ), "long"
    return 1


def in_one(a, b, c):
    if a:
        assert (
            c == 1
            or d == 2
        )
    elif b:
        assert (
            not c
            or d
        ), e
    else:
        assert (
            a
        )


def in_both(a, b, c):
    if a and b:
        assert c
    if a or c:
        assert a and b, c
    for d in c:
        if d:
            assert d.a and not d.b
# output: 3.8
def in_two(a, b, c):
    if a and b and not (c and d):
        assert e, "long"
    return 1


def in_one(a, b, c):
    if a:
        assert c == 1 or d == 2
    elif b:
        assert not c or d, e
    else:
        assert a


def in_both(a, b, c):
    if a and b:
        assert c
    if a or c:
        assert a and b, c
    for d in c:
        if d:
            assert d.a and not d.b
# output: 3.9-3.10
def in_two(a, b, c):
    if a and b:
        assert c and d or e, "long"
    return 1


def in_one(a, b, c):
    if a:
        assert c == 1 or d == 2
    elif b:
        assert not c or d, e
    else:
        assert a


def in_both(a, b, c):
    if a and b:
        assert c
    if a or c:
        assert a and b, c
    for d in c:
        if d:
            assert d.a and not d.b
# output: 3.11+
def in_two(a, b, c):
    if a:
        if b:
            assert c and d or e, "long"
    return 1


def in_one(a, b, c):
    if a:
        assert c == 1 or d == 2
    elif b:
        assert not c or d, e
    else:
        assert a


def in_both(a, b, c):
    if a and b:
        assert c
    if a or c:
        assert a and b, c
    for d in c:
        if d:
            assert d.a and not d.b
