# known ugly: 3.9+ dict updated on the stack
def raises():
    try:
        return a
    except b:
        pass
    finally:
        raise c


def returns(a, b):
    try:
        return a
    finally:
        return b


def endless():
    try:
        a
    except ValueError:
        return b
    finally:
        while True:
            c(**d and e)


def constant():
    try:
        return a()
    finally:
        return 3


def goes_on():
    for a in b:
        try:
            if a:
                return c
            d()
        finally:
            if e:
                break
            f()
            continue
    g()


def from_loop():
    try:
        for a in b:
            if c:
                return a
        d()
    finally:
        return 4
