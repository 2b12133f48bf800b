f = lambda: 0
g = lambda a, b=1, *args, c, **kwargs: a + b
h = lambda x: lambda y: x + y
i = sorted(items, key=lambda item: (item.a, -item.b))
j = lambda: (yield)
k = lambda a: a if a else None
