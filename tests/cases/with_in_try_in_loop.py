"""A ``with`` that ends the ``try`` that a loop begins with: what its manager suppressed goes on with the loop outside."""


def serve_f(y, p):
    while True:
        try:
            with m():
                if p:
                    b()
                    return 1
                a()
                d()
        except E:
            b()
            return 1


def serve_g(y, p):
    while True:
        try:
            with m():
                a()
        except E:
            b()


def serve_h(y, p):
    while True:
        try:
            with m():
                a()
            k()
        except E:
            b()
