"""``return`` out of a ``with`` in a loop, behind which the loop goes on: no loop of one turn."""


def two_managers(xs, g):
    for x in xs:
        with g:
            for y in x:
                if y:
                    return
        with g:
            k()


def one_manager(xs, g):
    for x in xs:
        with g:
            for y in x:
                if y:
                    return
        k()
