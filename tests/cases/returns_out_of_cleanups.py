def i1(self, obj):
    try:
        try:
            printer = self.s[obj_id]
        except (TypeError, KeyError):
            pass
        else:
            return printer(obj, self, cycle)
        return _default_pprint(obj, self, cycle)
    finally:
        self.end_group()


def i2(self, obj):
    try:
        for cls in _get_mro(obj_class):
            if cls in self.type_pprinters:
                return self.type_pprinters[cls](obj, self, cycle)
        return _default_pprint(obj, self, cycle)
    finally:
        self.end_group()
        self.stack.pop()


def i3(self, obj):
    try:
        if obj:
            return self.x(obj)
        return _default_pprint(obj, self, cycle)
    finally:
        self.end_group()
        self.stack.pop()


def i4(self, obj):
    try:
        for cls in _get_mro(obj_class):
            if cls in self.type_pprinters:
                return self.type_pprinters[cls](obj, self, cycle)
        return _default_pprint(obj, self, cycle)
    finally:
        end_group()


def w1(self, obj):
    with a as b:
        for cls in f(obj):
            if cls in self.p:
                return self.p[cls](obj)
        return g(obj)


def w2(self, obj):
    for cls in f(obj):
        with a as b:
            if cls in self.p:
                return self.p[cls](obj)
    return g(obj)


def w3(self, obj):
    try:
        with a as b:
            for cls in f(obj):
                if cls in self.p:
                    return self.p[cls](obj)
            return g(obj)
    finally:
        h()


def w4(self, obj):
    with a as b:
        try:
            for cls in f(obj):
                for d in cls:
                    if cls in self.p:
                        return self.p[cls](obj)
            return g(obj)
        finally:
            h()
            i()
    return 3


def w6(self, obj):
    for a in obj:
        try:
            if x:
                continue
            return f(a)
        finally:
            h()
    return None


def w7(self, obj):
    for a in obj:
        with b, c:
            if a:
                continue
            if ctx or mode is ALWAYS:
                r = fin(r)
        return r
    raise E


def w8(self, obj):
    for a in obj:
        with b:
            if a:
                continue
            r = fin(r)
        return r
    raise E
