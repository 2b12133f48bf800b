def for_loop(p, xs):
    try:
        call()
    finally:
        for w in xs:
            if p(w):
                continue
            raise T(w)


def with_statements_behind(p, xs):
    try:
        call()
    finally:
        for w in xs:
            if p(w):
                continue
            raise T(w)
        call(xs)
    return p


def in_loop(p, xs):
    for x in xs:
        try:
            call(x)
        finally:
            for w in x:
                if not p(w):
                    raise T(w)
                call(w)
                raise x


def returned(p, xs):
    try:
        return call()
    finally:
        while xs:
            if p(xs):
                continue
            w = T(xs)
            raise w


def in_handlers(p, xs):
    try:
        call()
    except ValueError:
        for w in xs:
            if p(w):
                continue
            raise T(w)
    else:
        for w in xs:
            if p(w):
                continue
            raise T(w) from None
    finally:
        with xs:
            for w in xs:
                if p(w):
                    continue
                raise T(w)


def in_try_in_finally(p, xs):
    try:
        call()
    finally:
        try:
            for w in xs:
                if p(w):
                    continue
                raise T(w)
        finally:
            for w in xs:
                for v in w:
                    if p(v):
                        continue
                    raise T(v)


def with_else(p, xs):
    try:
        call()
    finally:
        for w in xs:
            if p(w):
                break
            if w:
                continue
            raise T(w)
        else:
            call(p)


def iterates(xs):
    return iter(xs)
