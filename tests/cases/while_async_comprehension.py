# known ugly: 3.12+ waits: FAILED original DICT_MERGE 1 and recompiled DICT_MERGE 1: operand 1 of 2 differs, a dict against a computed value -- the dict is filled in a loop that was inlined, in another block
async def waits():
    while [a async for a in b]:
        c()
    log(**[b for d in b])
