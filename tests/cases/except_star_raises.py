# versions: 3.11+
def f(a):
    try:
        g()
    except* ValueError:
        raise A
    except* TypeError as e:
        raise B
    else:
        h()
    k()
def f2(a):
    try:
        g()
    except* ValueError:
        raise A
    else:
        return h()
def f3(a):
    for x in a:
        try:
            g()
        except* ValueError:
            raise
        else:
            h()
def f4(a):
    try:
        g()
    except* ValueError:
        raise A
    return 3
def f5(a):
    try:
        g()
    except* TypeError as e:
        raise B from e
    else:
        h()
    k()
def f6(a):
    for x in a:
        try:
            g()
        except* ValueError:
            x()
        else:
            h()
# output
def f(a):
    try:
        g()
    except* ValueError:
        raise A
    except* TypeError as e:
        raise B
    else:
        h()
    k()


def f2(a):
    try:
        g()
    except* ValueError:
        raise A
    else:
        return h()


def f3(a):
    for x in a:
        try:
            g()
        except* ValueError:
            raise
        else:
            h()


def f4(a):
    try:
        g()
    except* ValueError:
        raise A
    return 3


def f5(a):
    try:
        g()
    except* TypeError as e:
        raise B from e
    else:
        h()
    k()


def f6(a):
    for x in a:
        try:
            g()
        except* ValueError:
            x()
        else:
            h()
