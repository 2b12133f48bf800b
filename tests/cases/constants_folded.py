def folded():
    return 24 * x


def tuples(a):
    if a in ("x", "y"):
        return 1, 2, 3
    if a not in {1, 2}:
        return ()
    for x in 1, 2:
        use(x)
