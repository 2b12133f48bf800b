# versions: 3.11+
def one(a):
    try:
        a()
    except* ValueError:
        handle()


def several(a):
    try:
        a()
    except* ValueError as group:
        handle(group)
    except* (TypeError, KeyError) as group:
        other(group)
    else:
        fine()
    finally:
        clean()
    after()
