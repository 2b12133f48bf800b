def inner_in_body(a, b):
    try:
        try:
            a()
        except ValueError:
            one()
        b()
    except TypeError:
        two()


def inner_in_handler(a, b):
    try:
        a()
    except ValueError:
        try:
            b()
        except TypeError:
            two()
    after()


def handler_in_else(a, b):
    try:
        a()
    except ValueError:
        one()
    else:
        try:
            b()
        except TypeError as error:
            two(error)
    after()
