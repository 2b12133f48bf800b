def if_only(a):
    if a:
        one()
    two()


def if_else(a):
    if a:
        one()
    else:
        two()
    three()


def chain(a, b, c):
    if a:
        one()
    elif b:
        two()
    elif c:
        three()
    else:
        four()
    five()


def nested(a, b):
    if a:
        if b:
            one()
        else:
            two()
        three()
    else:
        if b:
            four()
        five()


def early(a, b):
    if a:
        return 1
    if b:
        return 2
    return 3
