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
def f7(a):
    try:
        raise a
    except* (TypeError, ValueError) as e:
        raise SyntaxError("bad")
    h()
def f8(a):
    try:
        try:
            raise a
        except* (TypeError, ValueError) as e:
            raise SyntaxError("bad")
    except SyntaxError as e:
        a = e
    h(a)
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


def f7(a):
    try:
        raise a
    except* (TypeError, ValueError) as e:
        raise SyntaxError("bad")
    h()


def f8(a):
    try:
        try:
            raise a
        except* (TypeError, ValueError) as e:
            raise SyntaxError("bad")
    except SyntaxError as e:
        a = e
    h(a)
