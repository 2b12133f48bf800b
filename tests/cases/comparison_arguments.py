def last(self, a, b, kind):
    if a:
        self.check(kind.dupe is kind("third") is kind["dupe"])
    elif b:
        self.check(kind.dupe is kind("3") is kind["dupe"])
    else:
        self.check(kind.dupe is kind(self.values[2]) is kind["dupe"])


def returned(f, a, b, c, d):
    if a:
        return f(a < b < c)
    return f(d, a < b < c < d, a)
