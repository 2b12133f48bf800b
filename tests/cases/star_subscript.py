# versions: 3.11+
# known: 3.11+ the text reads differently
# known ugly: 3.14+ original STORE_NAME args and recompiled STORE_NAME args: operand 1 of 1 differs, a computed value against a co
def index(a, b):
    return a[*b], a[b, *b]


def args(*args: *Ts):
    return args
