# versions: 3.11+
def tried(self, c):
    try:
        u, p = self.get(c)
    except KeyError:
        return fail(c)
    else:
        up = self(c, u)
        return up


def behind(self, c):
    try:
        u, p = self.get(c)
    except KeyError:
        return fail(c)
    up = self(c, u)
    return up


def looped(self, c, a, b):
    while c:
        try:
            c = self.x(a)
        except ValueError:
            break
        else:
            a, b = self.y(c)
        print(a)
    try:
        a, *b = self.get(c)
    except KeyError:
        return fail(c)
    else:
        self.a, b[0] = self(c, a)
    return a
