# known: 3.11 handlers: the return at the end is copied to where the loop ends
# known: 3.13+ handlers: the return at the end is copied to where the loop ends
def handlers(log):
    try:
        try:
            return log()
        except KeyError:
            pass
        except ValueError as e:
            if b:
                log(1)
            else:
                for x in c:
                    pass
    finally:
        pass
# written: 3.11
def handlers(log):
    try:
        try:
            return log()
        except KeyError:
            pass
        except ValueError as e:
            if b:
                log(1)
            else:
                for x in c:
                    pass
                return None
    finally:
        pass
# written: 3.13+
def handlers(log):
    try:
        try:
            return log()
        except KeyError:
            pass
        except ValueError as e:
            if b:
                log(1)
            else:
                for x in c:
                    pass
                return None
    finally:
        pass
