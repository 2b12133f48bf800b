"""Which operands of a test belong together where its lines tell."""


def or_breaks():
    while n:
        if a or b:
            break
    m()


def or_breaks_early():
    while n:
        if a or b:
            break
        k()
    m()


def not_both_breaks():
    while n:
        if not (a and b):
            break
    m()


def or_breaks_late():
    while n:
        k()
        if a or b:
            break
    m()


def over_lines():
    if n and a and b:
        k()
    m()


def while_over_lines():
    while n and a and b:
        k()
    m()


def mixed_over_lines():
    if n or a and b or c and d:
        k()
    m()


def or_continues():
    for i in x:
        if n:
            if a or b:
                continue
            k()


def returned_over_lines():
    return n and a and b or c and d
