# versions: 3.11+
"""An ``if`` in the ``else`` of a ``try`` of which all handlers leave."""


def else_f(y, p, q):
    for x in y:
        try:
            k()
        except E:
            b()
            return
        else:
            if p:
                return
            a()


def else_g(y, p, q):
    try:
        k()
    except E:
        b()
    else:
        if p:
            return
        a()
    z()


def else_h(y, p, q):
    for x in y:
        try:
            k()
        except E:
            b()
        else:
            if p:
                break
            a()
            d()
