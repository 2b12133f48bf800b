# versions: 3.11+
def named_pass(tokens):
    for token in tokens:
        try:
            f()
        except OSError as c:
            pass
        else:
            g()


def in_while(tokens):
    while tokens:
        try:
            f()
        except OSError as c:
            pass
        else:
            g()
