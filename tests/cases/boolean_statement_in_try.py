def tried(x, y, z, g):
    try:
        x or z
    except ValueError:
        (x or y) and g()


def stored(x, z):
    try:
        y = x or z
    except ValueError:
        y = x and z


def managed(x, z, a):
    with a:
        x or z


def both(x, y, z, g, a):
    with a:
        try:
            x or z
        finally:
            y or g()
