# versions: 3.10+
def managers(a, b, c):
    with a, b as x, c:
        use(x)
    with a:
        with b:
            one()
        two()
