# known ugly: 3.12+ a collect slot is left in an expression
async def waits():
    while [a async for a in b]:
        c()
    log(**[b for d in b])
