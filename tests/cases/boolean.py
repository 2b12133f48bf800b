def boolean(a, b, c, d):
    if a and b:
        print(1)
    if a or b:
        print(2)
    if a and (b or c):
        print(3)
    if (a or b) and (c or d):
        print(4)
    if not (a and b):
        print(5)
    if a and b or c and d:
        print(6)
    x = a and b and c
    y = a or b and c
    z = (a or b) and not c
    print(a and f(b or c), not (a or b))
    return x or y or z or None
