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


def nothing_returned():
    try:
        if a:
            return
        b()
    finally:
        c(d if e else f, *g)
        raise h


def loop_and_clause():
    try:
        for a in b:
            if a:
                return
            if c:
                break
        d()
    except ValueError as e:
        f()
    finally:
        g()
        raise h


def returns_nothing_in_loop():
    while a:
        try:
            b()
            if c:
                return
            d()
        finally:
            e()
            continue


def try_in_finally():
    try:
        return a
    finally:
        try:
            if b:
                c()
        except KeyError:
            d()
        finally:
            raise e
