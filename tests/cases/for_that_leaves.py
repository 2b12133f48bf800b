"""A ``for`` whose body always leaves, in another loop."""


def f1(h):
    while True:
        for x in h():
            return x


def f2(h):
    while True:
        for x in h():
            if a:
                k()
            return x


def f3(h):
    while True:
        for x in h():
            if a:
                k()
            b = x
            return
        sleep(1)


def f4(h):
    while True:
        for x in h():
            if a:
                k()
            b = x
            break
        sleep(1)


def f6(h):
    while True:
        for x in h():
            if a:
                pass
            b(x)
            return


def f7(h):
    while True:
        for x in h():
            b(x)
            return
