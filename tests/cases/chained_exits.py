def guard(a, b, c):
    if not a:
        return None
    if b or not c:
        raise ValueError(a)
    x = a if b else c
    return x


def loop_guards(items):
    for item in items:
        if not item:
            continue
        if item.a and not item.b:
            continue
        use(item)


def and_or_return(a, b, c):
    return a and b or b and c or not a and not b
