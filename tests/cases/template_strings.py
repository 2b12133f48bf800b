# versions: 3.14+
# known ugly: 3.14+ template_texts: FAILED an interpolation on the stack -- a field holds the text of its expression, so its value cannot be computed in a statement before it
def template(a, b):
    one = t"plain"
    two = t"{a}"
    three = t"text {a!r:>10} and {b + 1}"
    four = t"{a:{b}}"
    return t"{f'{a}'}"


def template_texts(a, ver):
    t1 = t"{a:{a + 1} x} {a!r:>{ver}}"
    t2 = t'{"name": "Python"}{ {"version": ver}}'
    t3 = t"{ {'name': ver} !s:x}a={a!r}{ a }{  a:x}"
    t4 = t"{(lambda x: x)(1)}{t'{a}'} {{}}{(k := a)}"
    return t1, t2, t3, t4, t"{(yield 3)}", t""


def outer(n):
    def inner():
        return t"{n} {g}"

    return inner
