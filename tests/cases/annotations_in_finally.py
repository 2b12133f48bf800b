# versions: 3.14+
# known ugly: 3.14+ Final: FAILED original SET_ADD 1 and recompiled SET_ADD 1: operand 2 of 2 differs, the constant 1 against the constant 2 -- annotations are numbered in the order of the text, which the plain order of blocks is not
class Final:
    try:
        f: int = 3
    finally:
        g: str
