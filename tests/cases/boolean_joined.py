def apart():
    return aaa or (
        bbb and ccc) or ddd


def first():
    x = (
        bbb and ccc) or ddd
    return f(x, z or (bbb and
       (ccc or eee)) or ddd)


def decides():
    if a and (b or
        c and d) or e:
        return lambda: aaa or (
          bbb and ccc) or ddd


def in_line(name):
    return (name.startswith('SIGxxxxxxxxxxxxxxxxxxxxxxxxxxxxx') and (name.startswith('SIG_____________________________________') or
         name.startswith('SIG_____________________________________')) or name.startswith('CTRL__________________'))


def at_end(name):
    return (name.startswith('SIGxxxxxxxxxxxxxxxxxxxxxxxxxxxxx') or
        (name.startswith('SIG_____________________________________') and
         name.startswith('SIG_____________________________________')))
# output: 3.10-3.11
def apart():
    return (
        aaa
        or (
            bbb and ccc
        )
        or ddd
    )


def first():
    x = (
        (
            bbb and ccc
        )
        or ddd
    )
    return f(
        x,
        z or bbb
        and (
            ccc or eee
        )
        or ddd,
    )


def decides():
    if a and (b or c and d) or e:
        return lambda: aaa or (
            bbb and ccc
        ) or ddd


def in_line(name):
    return (
        name.startswith("SIGxxxxxxxxxxxxxxxxxxxxxxxxxxxxx") and (name.startswith(
            "SIG_____________________________________"
        )
        or name.startswith("SIG_____________________________________"))
        or name.startswith("CTRL__________________")
    )


def at_end(name):
    return (
        name.startswith("SIGxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")
        or name.startswith("SIG_____________________________________")
        and name.startswith("SIG_____________________________________")
    )
# output
def apart():
    return aaa or bbb and ccc or ddd


def first():
    x = bbb and ccc or ddd
    return f(x, z or bbb and (ccc or eee) or ddd)


def decides():
    if a and (b or c and d) or e:
        return lambda: aaa or bbb and ccc or ddd


def in_line(name):
    return (
        name.startswith("SIGxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")
        and (
            name.startswith("SIG_____________________________________")
            or name.startswith("SIG_____________________________________")
        )
        or name.startswith("CTRL__________________")
    )


def at_end(name):
    return (
        name.startswith("SIGxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")
        or name.startswith("SIG_____________________________________")
        and name.startswith("SIG_____________________________________")
    )
