def told_by_the_test(b, d):
    while b:
        if not a < b < c or d:
            continue
        f()


def at_the_end(a, b, c):
    while b:
        if b >= c > 0 and a:
            continue
