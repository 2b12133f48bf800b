class L1(a):
    while True:
        if y:
            break


class L2(a):
    x = 1
    while True:
        if y:
            break
        if z:
            break


class L3(a):
    while True:
        try:
            b()
        except E:
            break


class L4(a):
    while True:
        try:
            b()
            break
        except E:
            pass


class L5(a):
    while True:
        y: int
        if y:
            break
        z: int


class L6(a):
    for i in a:
        if y:
            break
    else:
        c


class L7(a):
    def f(self):
        return super().f()

    while True:
        if y:
            break
        if z:
            u
            break


class L8:
    while True:
        with a:
            if b:
                break
