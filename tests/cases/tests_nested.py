# versions: 3.11+
def g1():
    if n:
        if a and b:
            k()
    m()


def g2():
    if n:
        if a or b:
            k()
    m()


def g8():
    if n:
        if a and b:
            k()
        else:
            l()
    m()
