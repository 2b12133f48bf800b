# known ugly: 3.12+ a: FAILED original DICT_MERGE 1 and recompiled DICT_MERGE 1: operand 1 of 2 differs, a dict against a computed value -- the dict is filled in a loop that was inlined, in another block
# known ugly: 3.12+ b: FAILED original DICT_MERGE 1 and recompiled DICT_MERGE 1: operand 1 of 2 differs, a dict against a computed value -- the dict is filled in a loop that was inlined, in another block
# known ugly: 3.12+ b4: FAILED original DICT_MERGE 1 and recompiled DICT_MERGE 1: operand 1 of 2 differs, a dict against a computed value -- the dict is filled in a loop that was inlined, in another block
def a(kwds):
    return g(1, **{k: v for k, v in kwds.items()})


def a2(kwds, s):
    return g(fd(1, **{k: v[s] if k == "Y" else v for k, v in kwds.items()}) for s in gen(kwds))


def a3(kwds, s):
    return [fd(1, **{k: v[s] if k == "Y" else v for k, v in kwds.items()}) for s in gen(kwds)]


def b(routing):
    return Bunch(
        **{
            child: Bunch(**{m: dict((methods or {}).get(m, {})) for m in METHODS})
            for child, methods in routing.items()
        }
    )


def b2(routing):
    return {child: [methods or {} for m in METHODS] for child, methods in routing.items()}


def b3(routing):
    return {child: Bunch(**{m: 1 for m in METHODS}) for child, methods in routing.items()}


def b4(routing):
    return Bunch(**{child: f(methods or {}) for child, methods in routing.items()})
