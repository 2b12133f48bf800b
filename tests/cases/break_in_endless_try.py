# known: 3.8-3.10 the text reads differently
def behind_try():
    while True:
        try:
            value = int(input("> "))
            break
        except ValueError:
            print("again")
    return value


def break_in_else():
    while True:
        try:
            value = int(input("> "))
        except ValueError:
            print("again")
        else:
            break
    return value
