# versions: 3.11+
def f(y, p, q):
    for x in y:
        while q():
            with m():
                if p:
                    b()
                    return
                a()
            t()
        g()
