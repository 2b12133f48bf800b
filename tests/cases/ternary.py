def ternary(a, b, c):
    x = a if b else c
    y = a if b and c else b if c else a
    z = (a if b else c) if a else b
    print(a if b else c, [a if c else b])
    f(a if b else c).attr = x if y else z
    return a or (b if c else a)
