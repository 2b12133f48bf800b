def fstrings(a, b, c):
    one = f"{a}"
    two = f"text {a} and {b!r} and {c!s} {c!a}"
    three = f"{a:>10} {b:{c}} {a!r:^{b}.{c}}"
    four = f"{{{a}}} {a + b} {f(a)}"
    five = f"{a.b[c]} {'x' if a else 'y'} {(lambda: a)()}"
    six = f"{a}" + f"{b}"
    seven = f"{a}\n{b}\t"
    return f"{f(f'{a} {b}')}"
