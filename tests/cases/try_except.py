# known: 3.12 the text reads differently
def one(a):
    try:
        a()
    except ValueError:
        handle()


def named(a):
    try:
        a()
    except ValueError as error:
        handle(error)
    after()


def several(a):
    try:
        a()
    except ValueError as error:
        handle(error)
    except (TypeError, KeyError):
        other()
    except Exception:
        raise
    except:
        fallback()
    return a


def with_else(a):
    try:
        x = a()
    except ValueError:
        handle()
    else:
        use(x)
    after()


def returning(a):
    try:
        return a()
    except ValueError as error:
        return error


def chained(a):
    try:
        a()
    except ValueError as error:
        raise KeyError(error) from error
    except TypeError:
        raise KeyError from None
