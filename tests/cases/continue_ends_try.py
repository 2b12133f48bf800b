def goes_on(a, b, g, h):
    for b in a:
        try:
            a()
            continue
        except h:
            g()
        if b:
            break
        g()


def twice(a, g, h, k):
    while a:
        try:
            a()
            continue
        except h:
            g()
        except k:
            pass
        g(a)
        a = g()
