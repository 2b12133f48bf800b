"""The ``else`` of a ``try`` that ends the body of a loop: a handler that nobody ended by ``continue`` goes on behind it."""


def loop_1(xs):
    for x in xs:
        try:
            k()
        except O:
            s = 1
        except V:
            if z:
                raise
            s = 2
        else:
            if v > 1:
                p()
    return s


def loop_2(xs):
    for x in xs:
        try:
            with k():
                j()
        except O:
            s = 1
        else:
            if v > 1:
                p()
    return s


def loop_3(xs):
    for x in xs:
        try:
            k()
        except O:
            s = 1
        else:
            if v > 1:
                p()


def loop_4(xs):
    for x in xs:
        try:
            k()
        except O:
            s = 1
        else:
            p()


def loop_5(xs):
    for x in xs:
        try:
            with k():
                j()
        except O:
            s = 1
        else:
            p()


def loop_6(xs):
    for x in xs:
        try:
            k()
        except O:
            continue
        p()
        q()


def loop_7(xs):
    for x in xs:
        try:
            k()
        except O as e:
            log(e)
            continue
        except V:
            s = 1
            continue
        p()


def loop_8(xs):
    for x in xs:
        try:
            k()
        except O as e:
            log(e)
        except V:
            continue
        else:
            p()
            continue
        s()


def loop_9(xs):
    for x in xs:
        try:
            k()
        except O as e:
            log(e)
            s = 2
        else:
            p()


def loop_10(xs):
    while xs:
        try:
            k()
        except O as e:
            if e:
                log(e)
            else:
                s = 2
        else:
            p()
            if xs:
                return 3
