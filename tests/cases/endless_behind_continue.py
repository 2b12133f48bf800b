# versions: 3.11+
def fn1(x, z, b):
    for a in x:
        if z:
            continue
        while True:
            b = x
            if b:
                break


def fn2(x, z, b):
    for a in x:
        if z:
            continue
        else:
            while True:
                b = x
                if b:
                    break


def fn3(x, z, b):
    if z:
        return x
    while True:
        b = x
        if b:
            return
