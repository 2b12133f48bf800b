"""Returns of constants out of ``try`` with ``finally``, and falling off its end."""


def f():
    try:
        if a < b < c:
            return 1
    finally:
        r()


def g():
    try:
        if a and b:
            return 1
    finally:
        r()


def h():
    try:
        if a:
            return 1
    finally:
        r()


def j():
    try:
        for i in x:
            if a:
                return 1
            if b:
                return 2
    except OSError:
        return 3
    finally:
        r()


def k():
    try:
        for i in x:
            if a:
                return 1
            if b:
                return 2
    except OSError:
        return 3
    finally:
        r()
    return None


def m():
    try:
        if a:
            return 1
        return 2
    finally:
        r()


def n():
    for i in x:
        try:
            if a:
                return 1
        finally:
            r()
