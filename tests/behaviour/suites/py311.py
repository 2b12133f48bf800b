@case("ValueError('v')", "TypeError('t')", "ExceptionGroup('g', [ValueError(1), TypeError(2), KeyError(3)])", "None")
def except_star(error):
    try:
        if error:
            raise error
        log("body")
    except* ValueError as group:
        log("value", group)
    except* (TypeError, OSError) as group:
        log("type", group)
    return "end"


@case("ExceptionGroup('g', [ValueError(1), KeyError(3)])", "ValueError(1)", "None", "KeyError(1)")
def except_star_full(error):
    try:
        if error:
            raise error
    except* ValueError:
        log("handler")
        fail("from handler")
    else:
        log("else")
    finally:
        log("finally")
    return "end"


@case("ExceptionGroup('g', [ValueError(1), ExceptionGroup('h', [ValueError(2), TypeError(3)])])")
def except_star_nested(error):
    try:
        try:
            raise error
        except* ValueError as group:
            log(group)
            raise
    except* TypeError as outer:
        log(outer)


@case("[ValueError(1), None, ExceptionGroup('g', [ValueError(1)]), KeyError(1)]")
def except_star_in_loop(errors):
    for error in errors:
        try:
            if error:
                raise error
        except* ValueError as group:
            log(group)
        else:
            log("fine")
        log("after")


@case("N(1), [1, 2]")
def star_in_subscript(a, b):
    a[log("x"), *b] = 1
    return a[*b], a[*b, 3]


@case("1, 2, 3")
def star_annotation(*values):
    def inner(*args: *tuple[int, ...]):
        return args

    return inner(*values), inner.__annotations__
