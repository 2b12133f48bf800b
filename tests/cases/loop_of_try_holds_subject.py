# versions: 3.10+
def handled(f, z):
    while True:
        try:
            f.step()
        except ValueError as error:
            match f(error):
                case [_, int() as z]:
                    pass
                case _:
                    break
        for b in z:
            while True:
                f(b)
    f.close()
