"""A value returned from a loop through a finally that branches: each branch has its copy of the return."""


def a(keys):
    for k in keys:
        try:
            return q(k)
        except E:
            pass
        finally:
            if k:
                close(k)
    return None


def b(keys):
    for k in keys:
        try:
            return q(k)
        except E:
            pass
        finally:
            close(k)
    return None


def d(keys):
    for k in keys:
        try:
            return q(k)
        finally:
            if k:
                close(k)
    return None


def e(keys):
    for k in keys:
        try:
            return q(k)
        except E:
            foo()
        finally:
            if k:
                close(k)
    return None


def d1(keys):
    for k in keys:
        try:
            return q(k)
        finally:
            if k:
                close(k)


def d2(k):
    try:
        return q(k)
    finally:
        if k:
            close(k)


def d3(k):
    try:
        return q(k)
    finally:
        if k is not None:
            k.close()


def d4(keys, z):
    for k in keys:
        try:
            return q(k)
        finally:
            if z:
                close(k)


def d5(self, keys):
    for k in keys:
        try:
            return q(k)
        finally:
            if self.z:
                close(k)
