@case("[[1, 2], (3,), []], {'a': 1}", "[], {}", "[1], {}")
def comprehension_unpacking(lists, mapping):
    joined = [*log(x) for x in lists if x or log("empty")]
    once = {*x for x in lists for x in [x, x]}
    merged = {**log(d) for d in (mapping, {"b": 2})}
    lazily = (*log(x) for x in lists)
    return joined, sorted(once), merged, list(lazily), tuple(*x for x in [lists])


@case("[[1, 2], [3]]")
def comprehension_unpacking_async(lists):
    import asyncio

    async def each():
        for x in lists:
            yield log(x)

    async def main():
        one = [*x async for x in each()]
        two = [x async for x in (*x async for x in each())]
        three = {**{y: y for y in x} async for x in each()}
        return one, two, three

    return asyncio.run(main())


@case("")
def lazy_import_statements():
    scope = {}
    exec("lazy import json\nlazy from os import path as p, sep\nkinds = type(globals()['json']).__name__", scope)
    return scope["kinds"], scope["json"].dumps([1]), scope["p"].sep == scope["sep"]


@case("")
def conditional_annotations():
    class Record:
        if log(True):
            first: int = 1
        else:
            second: str = 2
        for item in (1, 2):
            third: log("lazy", list)
        try:
            fourth: float
        finally:
            fifth: bytes = b""

    return Record.__annotations__, Record.item, Record.fifth


@case("'a', 2")
def template_texts(name, width):
    shown = t"{name!r:>{width}} { {'k': name} !s} {name=} {(n := width)}"
    return [(i.value, i.expression, i.conversion, i.format_spec) for i in shown.interpolations], shown.strings
