def wait(cond, result, expected, success):
    with cond:
        if not result and expected * 0.6 < dt < expected * 10.0:
            success.value = True


def wait2(cond, result, expected, success):
    with cond:
        if expected * 0.6 < dt < expected * 10.0:
            success.value = True

def g5(c,a):
    with c:
        if a:
            if b:
                d()
            elif 0 < f < 5:
                c()
def g6(c,a):
    with c:
        with d:
            if 0 < f < 5:
                c()
# output
def wait(cond, result, expected, success):
    with cond:
        if not result and expected * 0.6 < dt < expected * 10.0:
            success.value = True


def wait2(cond, result, expected, success):
    with cond:
        if expected * 0.6 < dt < expected * 10.0:
            success.value = True


def g5(c, a):
    with c:
        if a:
            if b:
                d()
            elif 0 < f < 5:
                c()


def g6(c, a):
    with c:
        with d:
            if 0 < f < 5:
                c()
