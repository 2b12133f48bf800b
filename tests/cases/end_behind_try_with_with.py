"""The end of the function behind a `try` that ends with a `with`: no `else` says so."""


def leaves(g):
    try:
        f()
        with g:
            h()
    except E:
        return f()


def raises(g):
    try:
        f()
        with g as h:
            h()
    except E:
        raise F
    except F:
        return g
