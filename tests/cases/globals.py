counter = 0


def bump(by):
    global counter
    counter += by
    return counter


def declare():
    global first, second
    first = second = 1


def forget():
    global counter
    del counter
