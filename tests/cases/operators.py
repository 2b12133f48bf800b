def operators(a, b, c):
    print(a + b - c)
    print(a * (b + c))
    print((a**b)**c)
    print(a**b**c)
    print(-a, +b, ~c, not a)
    print(-a**b, (-a)**b)
    print(a @ b // c % a)
    print(a << b >> c)
    print(a & b | a ^ c)
    print((a < b) < c)
    print(a is b, a is not b, a in b, a not in b)
    return a[b][c](a).b
