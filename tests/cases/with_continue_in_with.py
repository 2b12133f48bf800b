# versions: 3.8-3.11
def f(self, tests, outcome):
    for t in tests:
        with self.sub(t) as s:
            if outcome == t:
                with self.raises(s):
                    s(t)
                continue
            obj = s.compile(t)
            if not obj:
                self.none(obj)
                continue
            with self.sub():
                s(obj)
            self.done(t)
