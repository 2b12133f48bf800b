# versions: 3.11+
def raises_again(log):
    try:
        return log()
    except* a:
        try:
            assert z
        except* ValueError as e:
            assert a
        try:
            raise
        except OSError:
            raise
