def raising():
    try:
        f()
    except OSError as e:
        print(e)
        raise
    else:
        g()
    finally:
        h()


def returning():
    try:
        f()
    except OSError:
        return 1
    else:
        g()
    finally:
        h()
    return 2


def generator(path):
    handle = None
    try:
        handle = open(path)
        yield handle
    except OSError as e:
        print(e)
        raise
    else:
        handle.flush()
    finally:
        if handle is not None:
            handle.close()


def nested():
    try:
        try:
            f()
        except OSError as e:
            print(e)
            raise
        g()
    finally:
        h()
