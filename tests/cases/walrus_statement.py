def local():
    (y := 3)
    print(y)
    (z := y.f())
    return z


def shared():
    global g
    (g := 1)
    x = (y := g) + 1
    return lambda: x + y


(m := 2)
