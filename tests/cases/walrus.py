def walrus(a, b):
    if (x := f(a)) > 1:
        use(x)
    while chunk := a.read(10):
        use(chunk)
    if (y := a) and (z := b):
        use(y, z)
    print((w := 1), w)
    return [(last := i) for i in a if (half := i // 2)]


def walrus_tests(a, b):
    if (x := f(a)) is None or (y := f(b)) == 2:
        return x
    return [n for i in a if (n := f(i)) is not None and n]
