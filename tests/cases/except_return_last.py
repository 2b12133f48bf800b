def last(f, g):
    try:
        f()
    except:
        return g()


def nested(f, g):
    try:
        try:
            f()
        except ValueError:
            raise
    except:
        return g()
