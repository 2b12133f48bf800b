# versions: 3.14+
# known ugly: 3.14+ Endless: FAILED original SET_ADD 1 and recompiled SET_ADD 1: operand 2 of 2 differs, the constant 0 against the constant 2 -- copies of a finally are numbered in another order where both are spelled
class Endless:
    while True:
        try:
            while c:
                pass
        finally:
            z: None = g
            k: None = 1
