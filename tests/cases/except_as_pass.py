def testTry(self):
        try: 1/0
        except EOFError: pass
        except TypeError as msg: pass
        except RuntimeError as msg: pass
        except: pass
        else: pass
        a()
        try: 1/0
        except (EOFError, TypeError, ZeroDivisionError) as msg: pass



def last(self):
    try:
        1 / 0
    except (EOFError, TypeError, ZeroDivisionError) as msg:
        pass
    return 1
# output
def testTry(self):
    try:
        1 / 0
    except EOFError:
        pass
    except TypeError as msg:
        pass
    except RuntimeError as msg:
        pass
    except:
        pass
    a()
    try:
        1 / 0
    except (EOFError, TypeError, ZeroDivisionError) as msg:
        pass


def last(self):
    try:
        1 / 0
    except (EOFError, TypeError, ZeroDivisionError) as msg:
        pass
    return 1
