def f(a, b):
    if a is b is not None:
        x()
    y()
def f2(a, b):
    assert a is b is not None
    y()
def f3(a, b):
    assert a < b < c
    y()
def f4(a, b):
    while a < b is None:
        y()
def matches(self, c):
    if not self.match:
        old = self.reason
        if c:
            assert self.match is not None, "can't be None if _check_match failed"
            assert self.reason is old is not None
            self.reason += f", but"
        else:
            self.reason = old
        return False
    return True
# output
def f(a, b):
    if a is b is not None:
        x()
    y()


def f2(a, b):
    assert a is b is not None
    y()


def f3(a, b):
    assert a < b < c
    y()


def f4(a, b):
    while a < b is None:
        y()


def matches(self, c):
    if not self.match:
        old = self.reason
        if c:
            assert self.match is not None, "can't be None if _check_match failed"
            assert self.reason is old is not None
            self.reason += ", but"
        else:
            self.reason = old
        return False
    return True
