def swallow(f, g):
    try:
        f()
    finally:
        try:
            g()
        except:
            pass


def handled(f, g):
    try:
        return f()
    finally:
        try:
            g()
        except OSError:
            pass


def handler(f, g):
    try:
        f()
    except KeyError as e:
        try:
            g(e)
        except:
            pass
        raise
