def c(a, b, d):
    return a or (None if b else d)


def c2(a, b, d):
    return f(a) or (None if b else d)


def d1(s):
    if s["type"] == "lax":
        return g(s["x"] if s.get("strict", False) else s["y"])
    return s["t"] == "n"


def d2(s):
    return g(s["x"] if s.get("strict", False) else s["y"])


def d3(s):
    return g(s["x"] if s.b else s["y"])


def e(self, schema):
    with self.a as b:
        with self.c as d:
            schema = f(schema)
            return self.defs.create(schema)


def e2(self, schema):
    with self.a as b:
        if x:
            return b
        with self.c as d:
            with self.c as d:
                schema = f(schema)
                return self.defs.create(schema)
