def comparisons(a, b, c, d):
    if a < b < c:
        print("two")
    if a < b() <= c.d == d:
        print("three")
    if not a < b < c:
        print("not")
    while a < b < c:
        a = step(a)
    x = a == b == c
    y = a < b < c and d
    z = a in b in c or d
    return x, y, a < (b < c)
