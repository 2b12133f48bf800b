# versions: 3.14+
def grouped(a, b, c, f):
    try:
        a -= (a and b) and c
        return f((a or b) or c)
    except ValueError as e:
        return (a or b) or c


def grouped_in_other(H, a, b, c, d, e):
    with a:
        x = (c and e or d) or a
    try:
        note(((H or b) and a) and c)
    except ValueError:
        x = (a or (b or c) and d) and e
    finally:
        note(a or (b and c or d) or e)
    return x
