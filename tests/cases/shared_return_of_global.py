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
    try:
        try:
            poll()
            return None
        except OSError as error:
            pass
    finally:
        pass
    return DEFAULT
