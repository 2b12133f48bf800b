# versions: 3.11+
def wait(poll):
    while True:
        try:
            poll()
            break
        except OSError as error:
            pass
        finally:
            pass
        return DEFAULT
    pass
# output
def wait(poll):
    while True:
        try:
            try:
                poll()
            except OSError as error:
                break
        finally:
            pass
        return None
    return DEFAULT
