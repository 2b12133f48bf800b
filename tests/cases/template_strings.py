# versions: 3.14+
def template(a, b):
    one = t"plain"
    two = t"{a}"
    three = t"text {a!r:>10} and {b + 1}"
    four = t"{a:{b}}"
    return t"{f'{a}'}"
