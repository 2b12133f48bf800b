class EndsInBranch(Base):
    def method(self):
        return __class__

    seen = []
    if module.flag:
        undecodable = b""
        seen += [("@undecodable", function(undecodable))]


class EndsInLoop(Base):
    def method(self):
        return super().method()

    for each in seen:
        if each:
            last = each


class EndsInTry(Base):
    def method(self):
        return super().method()

    try:
        import one
    except ImportError:
        one = None
