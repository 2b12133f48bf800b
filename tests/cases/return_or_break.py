# versions: 3.11+
"""``return``, ``return None`` and ``break`` at the end of a function, in an ``else``, and behind it: columns tell."""


def else_break(n):
    for y in n:
        try:
            x = g(y)
        except A:
            return None
        else:
            break


def bare_return(n):
    for y in n:
        try:
            x = g(y)
        except A:
            return
        else:
            break


def no_break(n):
    for y in n:
        try:
            x = g(y)
        except A:
            return None


def break_in_body(n):
    for y in n:
        try:
            x = g(y)
            break
        except A:
            return None


def break_behind(n):
    for y in n:
        try:
            x = g(y)
            h()
        except A:
            return
        break


def choice(n):
    for y in n:
        if g(y):
            return None
        else:
            break


def flat(n):
    for y in n:
        if g(y):
            return
        g(y)
        break
