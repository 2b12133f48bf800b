def simple(a):
    try:
        a()
    finally:
        clean()


def full(a):
    try:
        x = a()
    except ValueError:
        handle()
    else:
        use(x)
    finally:
        clean()
    after()


def returning(a):
    try:
        return a()
    finally:
        clean()


def conditional(a, b):
    try:
        if a:
            return b()
        use(a)
    finally:
        clean()
    return 0


def branching_cleanup(a, b):
    try:
        a()
    finally:
        if b:
            one()
        else:
            two()
    after()


def nested(a):
    try:
        try:
            a()
        finally:
            one()
    finally:
        two()


def suppressing(x):
    try:
        log()
    finally:
        with x:
            raise ValueError


def endless_suppressing(x):
    try:
        return log()
    finally:
        with x:
            while True:
                x.step()


def caught_in_with(x):
    try:
        log()
    finally:
        with x:
            try:
                raise KeyError
            except KeyError:
                pass


def returns_in_finally(items, a, b):
    try:
        items()
    finally:
        b()
        return a


def returns_choice_in_finally(items, a, b):
    try:
        items()
    finally:
        return a and b
