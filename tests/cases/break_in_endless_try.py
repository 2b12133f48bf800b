# known: 3.8-3.10 break_in_else: a break at the end of the body and one in the else are the same instructions; the line of the jump is not looked at
# known: 3.10 behind_try: the compiler copies the return to the break; the copy is shown where it lies
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
# written: 3.8-3.9
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
            break
        except ValueError:
            print("again")
    return value
# written: 3.10
def behind_try():
    while True:
        try:
            value = int(input("> "))
        except ValueError:
            print("again")
        else:
            return value


def break_in_else():
    while True:
        try:
            value = int(input("> "))
        except ValueError:
            print("again")
        else:
            return value
