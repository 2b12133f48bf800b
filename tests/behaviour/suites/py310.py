@case("1", "-2", "'text'", "None", "True", "b'x'", "1 + 2j", "5")
def match_literals(a):
    match a:
        case True:
            return "true"
        case 1 | -2:
            return "number"
        case "text" | b"x":
            return "text"
        case None:
            return "none"
        case 1 + 2j:
            return "complex"
    return "other"


@case("N(1)", "N(2)", "N(3)")
def match_value_order(a):
    match log("subject", a):
        case 1:
            log("one")
        case 2:
            log("two")
        case _:
            log("default")
    return log("after")


@case("[]", "[1]", "[1, 2]", "[1, 2, 3]", "'ab'", "(1, 2, 3, 4)", "None")
def match_sequence(a):
    match a:
        case []:
            return "empty"
        case [x]:
            return "one", x
        case [x, 2]:
            return "pair", x
        case [first, *middle, 3]:
            return "three", first, middle
        case (x, *_, y):
            return "ends", x, y
        case _:
            return "no sequence"


@case("[1, [2, 3]]", "[[1], [2]]", "[1, [2, 3, 4]]", "[1, 2]")
def match_nested(a):
    match a:
        case [x, [y, z]]:
            return x, y, z
        case [[x], [y]]:
            return x, y
        case [x, [*rest]]:
            return x, rest
        case [x, (int() | str()) as y]:
            return x, y


@case("{}", "{'k': 1}", "{'k': 2, 'm': 3}", "{'n': {'k': 5}}", "5")
def match_mapping(a):
    match a:
        case {"k": 1}:
            return "one"
        case {"k": value, **rest}:
            return value, rest
        case {"n": {"k": deep}}:
            return deep
        case {}:
            return "mapping"
    return "none"


@case("1, 5", "7, 5", "5, 5", "'x', 5")
def match_guard(a, b):
    match a:
        case int() as n if log("first", n > b):
            return "greater"
        case int() as n if log("second", n == b):
            return "equal"
        case int():
            return "less"
        case _ if b:
            return "other"


@case("1", "1.5", "'s'", "[1]", "Tracked('t')", "{'a': 1}")
def match_class(a):
    match a:
        case int(n) | float(n):
            return "number", n
        case str() as s:
            return "text", s
        case Tracked(name=name):
            return "tracked", name
        case dict(d):
            return d
        case [int(n)]:
            return "list", n


@case("1, 2", "3, 3", "0, 9")
def match_class_positional(a, b):
    class Point:
        __match_args__ = ("x", "y")

        def __init__(self, x, y):
            self.x, self.y = x, y

    match Point(a, b):
        case Point(0, y):
            return "axis", y
        case Point(x, y) if x == y:
            return "diagonal", x
        case Point(x=1, y=z):
            return "one", z


@case("[0, 1, [2, 3], 'stop', 4]", "[[9, 9]]")
def match_in_loop(items):
    for item in items:
        match item:
            case 0:
                continue
            case [x, y]:
                log("pair", x, y)
            case "stop":
                break
            case _:
                log("other", item)
        log("after", item)
    else:
        log("else")
    return "end"


@case("[1, 2]", "[1, 'x']", "[3, 4]")
def match_in_try(a):
    try:
        match a:
            case [1, int() as n]:
                return n
            case [1, other]:
                fail(other)
            case _:
                log("default")
    except ValueError as error:
        log(error)
    finally:
        log("finally")
    return "end"


@case("1, 2", "1, 3", "2, 2")
def match_tuple_subject(a, b):
    match a, b:
        case 1, 2:
            return "one two"
        case (1, x):
            return "one", x
        case _:
            return "other"


@case("1, 'a'", "1, 'b'", "2, 'a'")
def match_nested_match(a, b):
    match a:
        case 1:
            match b:
                case "a":
                    return "1a"
                case _:
                    log("inner default")
        case _:
            log("outer default")
    return log("end")


@case("{'type': 'add', 'left': 1, 'right': {'type': 'neg', 'value': 3}}", "7", "{'type': 'x'}")
def match_interpreter(tree):
    def run(node):
        match node:
            case {"type": "add", "left": left, "right": right}:
                return run(left) + run(right)
            case {"type": "neg", "value": value}:
                return -run(value)
            case int(n):
                return n
            case _:
                raise ValueError(node)

    return run(tree)


@case("[1, 2, 3]")
def match_star_positions(a):
    match a:
        case [*before, 3] if len(before) == 9:
            return before
        case [1, *between, 3]:
            return between


@case("cm('a'), cm('b', ValueError)")
def with_parenthesised(a, b):
    with (a as x, b as y):
        log(x, y)
        fail()
    return "end"


@case("[1, 2], [1, 2]", "[1], [2, 3]")
def zip_strict(a, b):
    return list(zip(a, b, strict=True))


@case("N(1)", "1")
def match_attribute_value(a):
    class Names:
        one = 1

    match a:
        case Names.one:
            return "one"
        case _:
            return "other"


@case("1")
def match_capture_scope(a):
    match a:
        case x:
            pass
    return [x for _ in range(2)], (lambda: x)()
