# versions: 3.11+
"""The columns of the return tell which of them leaves the loop that ends the function."""


def test_breaks(s, u):
    while True:
        if u():
            break
        s()


def handler_breaks(s, u):
    while True:
        try:
            s()
        except KeyboardInterrupt:
            break


def test_returns(s, u):
    while True:
        if u():
            return
        s()


def handler_returns(s, u):
    while True:
        try:
            s()
        except KeyboardInterrupt:
            return


def try_breaks(s, u):
    while True:
        try:
            if s():
                break
        except KeyboardInterrupt:
            u()


def for_breaks(s, u):
    for x in s:
        try:
            if s():
                break
        except KeyboardInterrupt:
            u()


def for_returns(s, u):
    for x in s:
        try:
            if s():
                return
        except KeyboardInterrupt:
            u()
