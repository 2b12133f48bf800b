# known ugly: 3.12+ waits: FAILED dict updated on the stack
async def waits():
    while [a async for a in b]:
        c()
    log(**[b for d in b])
