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
