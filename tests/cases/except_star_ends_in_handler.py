# versions: 3.11+
try:
    a()
except* OSError:
    try:
        assert b
    except c:
        pass
    else:
        raise ValueError
    if d:
        e()
try:
    a()
except* b:
    while True:
        try:
            raise KeyError
        except* c:
            pass
        except* ValueError:
            raise d
