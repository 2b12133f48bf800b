def out_of_a_with(a, x):
    try:
        with x:
            if a:
                f()
                return
    except ValueError:
        pass
    else:
        g()
# output: 3.10
def out_of_a_with(a, x):
    try:
        with x:
            if a:
                f()
                return
    except ValueError:
        return
    g()
