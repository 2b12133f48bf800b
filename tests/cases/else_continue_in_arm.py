# versions: 3.10+
def checked(items, quick):
    for x in items:
        if not x:
            continue
        if x.a:
            if d(x):
                continue
        else:
            try:
                x.b()
            except KeyError:
                if i(x):
                    if not h(x):
                        continue
                    if quick and m(x):
                        continue
            else:
                continue
        g(x)


def matched(items, quick):
    for x in items:
        match x:
            case 1:
                if d(x):
                    continue
            case _:
                try:
                    x.b()
                except KeyError:
                    if i(x):
                        if not h(x):
                            continue
                        quick(x)
                else:
                    continue
        g(x)
