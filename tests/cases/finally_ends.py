"""A finally whose last statement the compiler copies, and one that drops the value to be returned."""


def tests(self, log):
    try:
        yield log
    finally:
        if self.debugged:
            if self.count == 1:
                log("end", end="")
            else:
                log("end")
        self.debugged = False


def dropped(first, second, raised):
    try:
        yield first
        yield second
        return first.value
    finally:
        raise raised


def once(log, items):
    log(3)
    while True:
        try:
            log(5)
            if not items:
                break
            log(8)
        finally:
            log(10)
        log(11)
        break
    log(13)


def suppressed(manager, tree, value):
    with manager:
        body = tree.parse()
        if not body:
            return False
        kind = None
        if body.kind:
            kind = body.kind
        if kind is not None and value(kind):
            return False
    if value:
        return True
    return False
