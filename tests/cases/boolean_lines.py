# versions: 3.10-3.11
def returned(name):
    return (
        name.isupper()
        and (
            name.startswith("SIG") and not name.startswith("SIG_")
        )
        or name.startswith("CTRL_")
    )


handler(
    lambda name: name.isupper()
    and (
        name.startswith("SIG") and not name.startswith("SIG_")
    )
    or name.startswith("CTRL_")
)


def argument(a, b, c, d, e):
    return f(
        a
        and (
            b
            or (
                c and d
            )
            or e
        ),
        3,
    )
