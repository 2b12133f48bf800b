@case("'x', 3")
def template_strings(a, b):
    def render(template):
        return [p if isinstance(p, str) else (p.value, p.expression, p.conversion, p.format_spec) for p in template]

    return render(t"plain"), render(t"{a} and {b + 1!r:>{b}} end"), render(t"{log(a)}{b}"), render(t"")


@case("")
def deferred_annotations():
    def inner(x: log("evaluated", int)) -> undefined_name:
        return x

    log("defined")
    class Local:
        field: log("class annotation", str)

    try:
        inner.__annotations__
    except NameError:
        log("name error")
    return Local.__annotations__


@case("ValueError()", "TypeError()", "None")
def finally_without_return(error):
    try:
        if error:
            raise error
    except ValueError, KeyError:
        log("handled")
    finally:
        log("finally")
    return "end"


@case("[1, 2, 0]")
def builtin_reductions(items):
    return any(log(x) > 1 for x in items), all(x for x in items), tuple(x + 1 for x in items)


@case("[1, 2, 0]")
def builtin_reductions_shadowed(items):
    any = lambda values: ("shadowed", list(values))
    return any(x > 1 for x in items)
