def asserted(a, b, x):
    if a and b:
        assert (
            x.one == 1
            and x.two
        )
        x.m()


def asserted_with_message(a, b, x):
    if a and b:
        assert (
            x.first_thing(a)
        ), f"message {a}"
    assert (
        a.first_thing(b) == b.second_thing(a)
    ), "message"
    assert (
        a.first
        and b.second
    ), f"message {b}"
    x.m()


def yielded(a, b, x):
    if a and b:
        (
            yield x
        )


def yielded_on_one_line(a, b, x):
    if a and b:
        (yield x)
    return a
# output
def asserted(a, b, x):
    if a and b:
        assert x.one == 1 and x.two
        x.m()


def asserted_with_message(a, b, x):
    if a and b:
        assert x.first_thing(a), f"message {a}"
    assert a.first_thing(b) == b.second_thing(a), "message"
    assert a.first and b.second, f"message {b}"
    x.m()


def yielded(a, b, x):
    if a and b:
        yield x


def yielded_on_one_line(a, b, x):
    if a and b:
        yield x
    return a
