# versions: 3.12+
def returns():
    try:
        return a
    except:
        pass
    finally:
        b.c %= [d for e, f in g]


try:
    h
except:
    pass
finally:
    {i: j for k in l}
