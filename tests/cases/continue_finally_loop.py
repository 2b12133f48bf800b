"""``continue`` out of a ``try`` with handlers and ``finally`` that its loop begins with."""


def f(y, p, q):
    while True:
        try:
            if p:
                continue
            a()
        except E:
            b()
            continue
        finally:
            c()
        t()


def g(y, p, q):
    while True:
        try:
            a()
        except E:
            b()
            continue
        finally:
            c()
        t()


def h(y, p, q):
    for i in y:
        try:
            if p:
                continue
            a()
        except E:
            b()
            continue
        finally:
            c()
        t()
