# versions: 3.9+
def f(g):
    try:
        f()
    finally:
        with g:
            f()
        return 1


def generates(g):
    for x in g:
        try:
            return f()
        finally:
            with g as h:
                yield h
            return h
