@case("[1, 2]")
def type_param_function(items):
    def first[T: int, *Ts, **P](values: list[T]) -> T:
        return values[0]

    return first(items), [p.__name__ for p in first.__type_params__], first.__type_params__[0].__bound__


@case("3")
def type_param_class(a):
    class Base[T]:
        kind = "base"

        def get(self) -> T:
            return a

    class Child[U: (int, str)](Base[U]):
        def get(self):
            return super().get(), self.kind

    return Child().get(), Child.__type_params__[0].__constraints__


@case("")
def type_alias():
    type Plain = int
    type Generic[A, B] = dict[A, list[B]]
    type Lazy = undefined_name
    return Plain.__value__, [p.__name__ for p in Generic.__type_params__], Lazy.__name__


@case("'x', {'k': 1}")
def nested_fstrings(a, b):
    return f"{f"{a}"} {b["k"]} {"\n".join([a, a])} {a:{"<" + str(b["k"] + 3)}}"


@case("[1, 2], [3]")
def comprehension_in_class(a, b):
    class Local:
        items = [x for x in a]
        pairs = [(x, y) for x in a for y in b]

    return Local.items, Local.pairs


@case("[1, 2, 3]")
def comprehension_with_cell(items):
    x = "outer"
    functions = [lambda: x for x in items]
    return x, [f() for f in functions]


@case("[[1, 2], [0]]")
def comprehension_error_restores(rows):
    x = "kept"
    try:
        result = [[1 // x for x in row] for row in rows]
    except ZeroDivisionError:
        result = log("division")
    return x, result


@case("1")
def locals_in_comprehension(a):
    return [sorted(locals()) for b in range(1)]
