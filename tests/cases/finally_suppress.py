def f(a):
    try:
        a()
    finally:
        try:
            b()
        except:
            pass


def g(a):
    try:
        return a()
    except ValueError:
        try:
            b()
        except:
            pass
    finally:
        try:
            b()
        except:
            pass
