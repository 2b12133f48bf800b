try:
    f()
    with g():
        h()
finally:
    i()
if a:
    class A:
        def f(self):
            return super().f()

        for i in x:
            if i:
                g = 1
                break
        else:
            g()
        try:
            g()
        finally:
            h()

else:
    raise B
