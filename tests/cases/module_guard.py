if a:
    def f():
        return 1

    if b:
        f()
else:
    raise A
