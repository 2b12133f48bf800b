# Straight-line code, operators, calls.
@case("1, 2", "'a', 'b'", "1, 'b'")
def addition(a, b):
    return a + b


@case("N(1), N(2), N(3)")
def operator_order(a, b, c):
    return a + b * c - a // b % c ** a


@case("N(1), N(2)")
def bit_operators(a, b):
    return a & b | a ^ b, a << b, a >> b, a @ b


@case("N(1), N(2)")
def in_place(a, b):
    a += b
    a -= b
    a *= b
    a @= b
    a //= b
    return a


@case("N(1)")
def in_place_attribute(a):
    a.x += log("right")
    a[log("key")] *= 2
    a.x.y -= 1


@case("[1, 2, 3], 1", "[1], 5")
def in_place_item(a, i):
    a[i] += 10
    return a


@case("3", "-3", "'x'")
def unary(a):
    return -a, +a, ~a, not a


@case("0, 1", "'', []", "[1], [2]", "N(1), N(2)")
def double_not(a, b):
    x = not not a
    if not not b:
        log(not not not a)
    return x, not not b, not not (a < b), not (a < b)


@case("N(1), N(2), N(3)", "N(2), N(1), N(3)", "N(1), N(3), N(2)")
def chained_comparison(a, b, c):
    return a < b < c


@case("1", "5", "20")
def chained_with_calls(a):
    return log("low", 1) <= log("middle", a) < log("high", 10)


@case("1, 2, 3", "3, 2, 1", "1, 3, 2")
def chained_in_if(a, b, c):
    if a < log(b) < c:
        return "inside"
    return "outside"


@case("1, 2, 3", "3, 2, 1", "1, 3, 2")
def chained_not(a, b, c):
    if not a < log(b) < c:
        return "outside"
    return "inside"


@case("1, [1]", "2, [1]", "None, []")
def identity_membership(a, b):
    return a is None, a is not None, a in b, a not in b


@case("N(0), N(1)", "N(1), N(0)", "N(1), N(1)")
def and_or_values(a, b):
    return (a and b), (a or b)


@case("0, 0, 0", "1, 0, 0", "0, 1, 0", "1, 1, 1", "0, 0, 1")
def boolean_mix(a, b, c):
    return log("a", a) and (log("b", b) or log("c", c)), (log("a", a) or log("b", b)) and log("c", c)


@case("0, 0", "1, 0", "0, 1", "1, 1")
def not_mix(a, b):
    return not (log(a) and not log(b)), not log(a) or log(b)


@case("0, 0, 0", "1, 0, 1", "1, 1, 0", "0, 1, 1")
def boolean_in_if(a, b, c):
    if log("a", a) and (log("b", b) or not log("c", c)):
        log("then")
    else:
        log("else")


@case("N(1), 2", "N(0), 3")
def ternary(a, b):
    return log("yes") if a else log("no", b)


@case("0, 0", "0, 1", "1, 0", "1, 1")
def nested_ternary(a, b):
    return (log("both") if b else log("a only")) if a else log("b only") if b else log("none")


@case("0, 1", "1, 0")
def ternary_argument(a, b):
    return log(log("first"), a if log(b) else b, log("last"))


@case("1", "0")
def ternary_target(a):
    (log("x", N(1)) if a else log("y", N(2))).attr = log("value", 3)


@case("1, 2")
def swap(a, b):
    a, b = b, a
    return a, b


@case("1, 2, 3")
def rotate(a, b, c):
    a, b, c = b, c, a
    return a, b, c


@case("[1, 2, 3]", "[1]", "()", "5")
def unpack_two(a):
    b, c = a
    return b, c


@case("[1, 2, 3]", "[1]", "[]")
def unpack_star(a):
    b, *c = a
    *d, e = a
    return b, c, d, e


@case("[1, (2, [3, 4, 5])]", "[1, 2]")
def unpack_nested(a):
    b, (c, [d, *e]) = a
    return b, c, d, e


@case("N(1), N(2)")
def chained_assignment(a, b):
    a.x = b[0] = c = log("value", 7)
    return c


@case("N(1)")
def evaluation_order(a):
    log("target", a)[log("key")] = log("value")
    log("obj", a).attr = log("value 2")
    return {log("k1"): log("v1"), log("k2"): log("v2")}, [log("l1"), log("l2")], (log("t1"),)


@case("[1, 2, 3, 4, 5]", "'text'", "5")
def slices(a):
    return a[:], a[1:], a[:2], a[1:3], a[::2], a[-1:0:-1]


@case("N(1)")
def slice_objects(a):
    return a[1:2, ::3], a[..., None], a[log("x"):]


@case("[1, 2, 3, 4]")
def slice_assignment(a):
    a[1:3] = [9]
    a[0:1] += [8]
    del a[-1:]
    return a


@case("N(1)")
def deletion(a):
    del a.x, a[log("k")]
    b = 1
    del b
    return b


@case("1, 2", "[1], None")
def call_forms(a, b):
    return log(a, b), log(*[a, b]), dict(x=a, **{"y": b}), dict(*[], z=a, **{}, **{"w": b})


@case("[1, 2], {'x': 1}", "[], {'x': 1, 'z': 2}", "[1], 5")
def call_star(a, b):
    def target(*args, **kwargs):
        return args, kwargs

    return target(0, *a, 9, *a, k=1, **b, m=log("m"))


@case("{'k': 1}")
def call_duplicate_keyword(a):
    return dict(k=2, **a)


@case("N(1)")
def method_calls(a):
    return a.method(log(1)).other(x=log(2))(*a)[0].last()


@case("[1, 2]", "5")
def displays_star(a):
    return [0, *a, 3], (*a,), {**{"a": 1}, "b": 2}


@case("'x', 3", "None, 'y'")
def strings(a, b):
    return f"{a} {b!r} {a!s:>5} {b!a}", f"{a}{b}", f"{{}}{a}"


@case("3.14159, 10, 2", "'s', 5, 1")
def format_specs(a, width, precision):
    return f"{a:{width}.{precision}}|{width:0{precision}d}"


@case("1")
def constants(a):
    return [1, -1, 1.5, -0.0, 1e300, 2j, b"x\xff", "\u2028\"'", None, True, ..., (1, (2,)), frozenset()]


@case("1", "2", "9")
def constant_set(a):
    return a in {1, 2}, a in (1, 9), a not in [1]


# Conditions and loops.
@case("0, 0", "0, 1", "1, 0")
def if_chain(a, b):
    if a:
        log("a")
    elif b:
        log("b")
    else:
        log("neither")
    return log("end")


@case("0, 0", "0, 1", "1, 0", "1, 1")
def if_nested(a, b):
    if a:
        log("a")
        if b:
            log("ab")
        log("a again")
    else:
        if b:
            log("b")
        else:
            return "none"
        log("only b")
    return "end"


@case("0", "5")
def while_count(n):
    while n:
        log(n)
        n -= 1
    return n


@case("5, 3", "5, 9", "0, 0")
def while_break(n, stop):
    while n > 0:
        if n == stop:
            break
        log(n)
        n -= 1
    return log("after", n)


@case("5, 3", "5, 9", "0, 0")
def while_else(n, stop):
    while n > 0:
        if n == stop:
            break
        n -= 1
    else:
        log("exhausted")
    return n


@case("6")
def while_continue(n):
    while n:
        n -= 1
        if n % 2:
            continue
        log(n)


@case("3", "0")
def while_true(n):
    while True:
        log(n)
        if n <= 0:
            return "done"
        n -= 1


@case("3, 0", "0, 3", "3, 3", "0, 0")
def while_and_or(a, b):
    while (a and b) or a > 2:
        log(a, b)
        a -= 1
        b -= 1
    return a, b


@case("3")
def while_nested(n):
    while n:
        m = n
        while m:
            log(n, m)
            m -= 1
            if m == n - 2:
                break
        n -= 1


@case("[1, 2, 3]", "[]", "'ab'", "5")
def for_simple(items):
    for item in items:
        log(item)
    return "end"


@case("[0, 0, 1, 2]", "[0]", "[]")
def for_else(items):
    for item in items:
        if item:
            log("found", item)
            break
    else:
        log("none")
    return log("after")


@case("[[0, 1], [0, 0], [2]]", "[[0]]", "[]")
def for_else_nested(rows):
    for row in rows:
        for item in row:
            if item:
                log("hit", item)
                break
        else:
            log("miss")
            continue
        log("after hit")
        if item == 2:
            break
    else:
        log("all rows")


@case("[1, 2, 3, 4]")
def for_continue(items):
    for item in items:
        if item % 2:
            continue
        log(item)


@case("[(1, (2, 3)), (4, (5, 6))]", "[1]")
def for_unpack(items):
    for a, (b, *c) in items:
        log(a, b, c)


@case("[1, 2]")
def for_targets(items):
    target = N(0)
    for target.attr in items:
        log("loop")
    for target[log("key")] in items:
        log("loop")


@case("[1, 2, 3]", "[3]", "[]")
def for_return(items):
    for item in items:
        if item == 3:
            return log("three")
        log(item)
    return "end"


@case("3")
def loop_if_else_continue(n):
    for i in range(n):
        if i == 0:
            log("zero")
        elif i == 1:
            continue
        else:
            log("more")
            break
        log("after")


@case("[3, 1, 2]")
def bubble_sort(items):
    items = list(items)
    for i in range(len(items)):
        for j in range(len(items) - 1 - i):
            if items[j] > items[j + 1]:
                items[j], items[j + 1] = items[j + 1], items[j]
                log(items)
    return items


@case("12, 18", "7, 0", "'a', 1")
def gcd(a, b):
    while b:
        a, b = b, a % b
    return a


@case("27", "1")
def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
        if steps > 200:
            break
    return steps


# Exceptions.
@case("None", "ValueError('v')", "TypeError('t')", "KeyError('k')")
def try_except(error):
    try:
        if error:
            fail(error)
        log("fine")
    except ValueError:
        log("value")
    except TypeError as caught:
        log("type", caught)
    return "end"


@case("None", "ValueError('v')", "KeyError('k')")
def try_else(error):
    try:
        log("body")
        if error:
            raise error
    except ValueError:
        log("handler")
    else:
        log("else")
    log("after")


@case("None", "ValueError('v')", "KeyError('k')")
def try_finally(error):
    try:
        log("body")
        if error:
            raise error
    finally:
        log("finally")
    return "end"


@case("None", "ValueError('v')", "KeyError('k')")
def try_all(error):
    try:
        if error:
            raise error
    except ValueError as caught:
        log("handler", caught)
    else:
        log("else")
    finally:
        log("finally")
    return "end"


@case("None", "ValueError('v')")
def try_return_finally(error):
    try:
        if error:
            raise error
        return log("result")
    except ValueError:
        return log("handled")
    finally:
        log("finally")


@case("None", "ValueError('v')")
def finally_overrides(error):
    try:
        if error:
            raise error
        return "body"
    finally:
        return "finally"


@case("[1, 0, 2]", "[0]", "[3, 'x', 4]")
def finally_break(items):
    for item in items:
        try:
            if not item:
                break
            log(1 / item)
        finally:
            log("finally", item)
    return "end"


@case("[1, 0, 2]", "[1, 'x']")
def finally_continue(items):
    for item in items:
        try:
            if not item:
                continue
            log(1 / item)
        finally:
            log("finally", item)
    return "end"


@case("[1, 0, 2]", "['x']")
def break_in_finally(items):
    for item in items:
        try:
            log(1 / item)
        finally:
            if not item:
                break
            log("end of", item)
    return "end"


@case("ValueError('v')", "KeyError('k')", "None")
def try_nested(error):
    try:
        try:
            if error:
                raise error
        except ValueError:
            log("inner")
            raise TypeError("from inner")
        finally:
            log("inner finally")
    except (TypeError, KeyError) as caught:
        log("outer", caught, caught.__context__)
    return "end"


@case("ValueError('v')", "None")
def reraise(error):
    try:
        if error:
            raise error
    except ValueError:
        log("seen")
        raise


@case("ValueError('v')")
def raise_from(error):
    try:
        raise error
    except ValueError as caught:
        raise KeyError("k") from caught


@case("ValueError('v')")
def raise_from_none(error):
    try:
        raise error
    except ValueError:
        raise KeyError("k") from None


@case("ValueError", "ValueError(1)", "5", "None")
def raise_forms(a):
    raise a


@case("ValueError('v')", "OSError('o')", "KeyboardInterrupt()")
def bare_except(error):
    try:
        raise error
    except OSError:
        log("os")
    except:
        log("anything")


@case("ValueError('v')")
def name_unbound_after(error):
    caught = 1
    try:
        raise error
    except ValueError as caught:
        log(caught)
    return caught


@case("ValueError('v')", "KeyError('k')")
def del_in_handler(error):
    try:
        raise error
    except ValueError as caught:
        del caught
    except KeyError as caught:
        caught = 1
        return caught


@case("[1, 0, 'x', 2]", "[]")
def try_in_loop(items):
    results = []
    for item in items:
        try:
            results.append(1 / item)
        except ZeroDivisionError:
            continue
        except TypeError as error:
            log(error)
            break
        else:
            log("ok", item)
        log("after", item)
    return results


@case("3", "1", "9")
def retry_loop(failures):
    attempt = 0
    while True:
        attempt += 1
        try:
            if attempt <= failures:
                fail(attempt)
            return log("ok", attempt)
        except ValueError as error:
            if attempt == 4:
                raise RuntimeError("gave up") from error


@case("ValueError", "KeyError", "None")
def try_in_handler(error):
    try:
        fail("one")
    except ValueError:
        try:
            if error:
                fail("two", error)
        except KeyError as second:
            log(second.__context__)
        log("after inner")
    return "end"


@case("ValueError", "TypeError", "None")
def try_in_finally(error):
    try:
        log("body")
    finally:
        try:
            if error:
                fail(error)
        except ValueError:
            log("handled")
    return "end"


@case("None", "ValueError('v')", "KeyError('k')")
def except_dynamic(error):
    try:
        if error:
            raise error
    except log("types", (ValueError, OSError)) as caught:
        return caught


@case("True", "False")
def assertion(a):
    assert a
    assert not a, log("message")


@case("0", "1", "2")
def finally_with_branches(a):
    try:
        if a == 1:
            return "one"
        if a == 2:
            fail()
    finally:
        if a:
            log("a")
        else:
            log("not a")
    return "zero"


@case("[0, 1, 2]")
def finally_with_loop(items):
    try:
        return log("body")
    finally:
        for item in items:
            if item == 1:
                continue
            log(item)


@case("0", "1", "2", "3")
def deep_finally(a):
    for i in range(2):
        try:
            try:
                if a == 1:
                    continue
                if a == 2:
                    break
                if a == 3:
                    return "three"
                log("body", i)
            finally:
                log("inner", i)
        finally:
            log("outer", i)
    else:
        log("else")
    return "end"


# Context managers.
@case("cm('a')", "cm('a', fail_enter=True)", "cm('a', fail_exit=True)", "5")
def with_simple(a):
    with a:
        log("body")
    return "end"


@case("cm('a')", "cm('a', ValueError)", "cm('a', KeyError)")
def with_raise(a):
    with a as name:
        log(name)
        fail()
    return log("after")


@case("cm('a'), cm('b')", "cm('a', ValueError), cm('b')", "cm('a', fail_exit=True), cm('b', ValueError)")
def with_two(a, b):
    with a as x, b as y:
        log(x, y)
        fail()
    return "end"


@case("cm('a'), cm('b')", "cm('a'), cm('b', fail_enter=True)")
def with_nested(a, b):
    with a:
        log("one")
        with b:
            log("two")
        log("three")
    return "end"


@case("cm('a'), 0", "cm('a'), 1")
def with_return(a, b):
    with a:
        if b:
            return log("inside")
    return log("outside")


@case("[cm('a'), cm('b'), cm('c')], 'b'", "[cm('a')], None")
def with_break_continue(items, stop):
    for item in items:
        with item as name:
            if name == stop:
                break
            if name == "a":
                continue
            log("body", name)
        log("after", name)
    return "end"


@case("cm('a', ValueError), 0", "cm('a'), 0", "cm('a'), 1")
def with_in_try(a, b):
    try:
        with a:
            if b:
                return "early"
            fail()
        log("swallowed")
    except ValueError as error:
        log(error)
    finally:
        log("finally")
    return "end"


@case("cm('a'), [1, 0]", "cm('a'), [0]", "cm('a'), []", "cm('a', ZeroDivisionError), [1, 0]")
def return_in_with_in_for_in_try(a, items):
    try:
        with a:
            for item in items:
                try:
                    if 1 / item > 0:
                        return item
                except TypeError:
                    log("type")
                finally:
                    log("item", item)
    finally:
        log("outer")
    return "end"


@case("[(1, 2)]")
def with_targets(a):
    target = N(0)
    with cm("x") as target.attr, cm("ab") as (first, second):
        log(first, second)


@case("cm('a')")
def with_del(a):
    with a as x:
        del x
    return log("end")


# Functions, closures, classes.
@case("1", "1, 2", "1, 2, 3", "")
def defaults(*args):
    def inner(a, b=log("default"), *rest, c=5, **kwargs):
        return a, b, rest, c, kwargs

    return inner(*args)


@case("1, 2", "1")
def positional_only(*args):
    def inner(a, b=3, /, c=4, *, d=5):
        return a, b, c, d

    return inner(*args, d=6)


@case("1")
def keyword_only_missing(a):
    def inner(*, k):
        return k

    return inner(k=a), inner()


@case("5")
def closure_counter(start):
    def step(by):
        nonlocal start
        start += by
        return start

    return step(1), step(2), start


@case("3")
def closure_late_binding(n):
    functions = [lambda: i for i in range(n)]
    others = [lambda i=i: i for i in range(n)]
    return [f() for f in functions], [f() for f in others]


@case("")
def closure_unbound():
    def use():
        return later

    try:
        use()
    except NameError as error:
        log(type(error))
    later = 1
    log(use())
    del later
    return use()


@case("5")
def closure_three_deep(n):
    def one():
        def two():
            def three():
                return n

            return three

        return two

    return one()()()


@case("4")
def recursion(n):
    def factorial(k):
        return 1 if k <= 1 else k * factorial(k - 1)

    return factorial(n)


@case("1")
def unbound_local(a):
    if not a:
        b = 1
    return b


@case("2")
def global_write(a):
    global global_counter
    global_counter = a
    global_counter += 1
    log(global_counter)
    del global_counter
    return global_counter


@case("1")
def decorators(a):
    def wrap(name):
        log("make", name)

        def apply(function):
            log("apply", name, function)
            return lambda *args: (name, function(*args))

        return apply

    @wrap("outer")
    @wrap("inner")
    def target(x):
        return x

    return target(a)


@case("3")
def lambdas(a):
    f = lambda x, *, y=2: x + y
    g = lambda *args, **kwargs: (args, kwargs)
    return f(a), g(1, k=2), (lambda: (lambda: a)())()


@case("1")
def annotations(a):
    def inner(x: log("int"), *y: "str", z: list = None) -> dict:
        return x

    return inner.__annotations__


@case("")
def docstrings():
    """The docstring."""

    def inner():
        "Inner."

    class Local:
        """Local.

        Indented.
        """

    return docstrings.__doc__, inner.__doc__, Local.__doc__


@case("4")
def simple_class(a):
    class Point:
        log("class body")
        dims = 2

        def __init__(self, x):
            self.x = x

        def double(self):
            return self.x * self.dims

    return Point(a).double(), Point.__qualname__, sorted(k for k in vars(Point) if not k.startswith("__"))


@case("1")
def class_super(a):
    class Base:
        def __init__(self, x):
            self.x = log("base", x)

        @classmethod
        def make(cls):
            return cls(7)

    class Derived(Base):
        def __init__(self, x):
            super().__init__(x + 1)
            self.cls = __class__.__name__

        @classmethod
        def make(cls):
            return super().make()

    return Derived(a).x, Derived.make().cls


@case("1")
def class_closure(a):
    class Outer:
        value = a
        a = 5

        def method(self):
            return a

        class Inner:
            other = a

    return Outer.value, Outer.a, Outer().method(), Outer.Inner.other


@case("1")
def class_mangling(a):
    class Hidden:
        __field = 3

        def __method(self, __x):
            return self.__field + __x

        def call(self, x):
            self.__other = x
            return self.__method(x), sorted(vars(self))

    return Hidden().call(a)


@case("")
def class_keywords():
    class Meta(type):
        def __new__(mcs, name, bases, namespace, **kwargs):
            log("meta", name, kwargs)
            return super().__new__(mcs, name, bases, namespace)

        def __init__(cls, name, bases, namespace, **kwargs):
            super().__init__(name, bases, namespace)

    class Made(*[object], metaclass=Meta, key=log("key", 1)):
        pass

    return type(Made).__name__


@case("True", "False")
def class_conditional(flag):
    class Chosen:
        if flag:
            x = "yes"
        else:
            x = "no"
        for i in range(3):
            last = i
        try:
            fail()
        except ValueError:
            caught = True

    return Chosen.x, Chosen.last, Chosen.caught


@case("")
def class_properties():
    class Thing:
        @property
        def value(self):
            return log("get", 1)

        @value.setter
        def value(self, new):
            log("set", new)

        @staticmethod
        def static(x):
            return x

    thing = Thing()
    thing.value = thing.value + 1
    return Thing.static(3)


# Comprehensions and generators.
@case("[1, 2, 3]", "[]", "5")
def list_comprehension(items):
    return [log(x) * 2 for x in items if x != 2]


@case("[[1, 2], [3]]", "[1]")
def comprehension_nested_loops(rows):
    return [x + y for row in rows if row for x in row for y in row if x <= y]


@case("[[1, 2], [3]]")
def comprehension_nested(rows):
    return [[x * 2 for x in row] for row in rows], {len(row): {x for x in row} for row in rows}


@case("[1, 2, 2]")
def set_dict_comprehension(items):
    return {x % 2 for x in items}, {log("k", x): log("v", x + 1) for x in items}


@case("[1, 0, 2]")
def comprehension_conditions(items):
    return [x if x else "zero" for x in items if x or not x if x != 2]


@case("[1, 2]")
def comprehension_scope(items):
    x = "outer"
    inner = [x for x in items]
    return x, inner, [(x, y) for y in items]


@case("[1, 2]")
def comprehension_closure(items):
    factor = 3
    return [f() for f in [lambda: factor * item for item in items]]


@case("[1, 0, 2]")
def comprehension_raises(items):
    x = "kept"
    try:
        [1 / x for x in items]
    except ZeroDivisionError:
        pass
    return x


@case("[1, 2, 3]")
def generator_expression(items):
    return sum(log(x) for x in items if x > 1), any(log(x) > 1 for x in items), tuple(x for x in items)


@case("[1, 2, 3]")
def all_any(items):
    return all(log(x) < 3 for x in items), any(log(x) == 2 for x in items)


@case("[1, 2, 3]", "[]", "5")
def generator_simple(items):
    for item in items:
        yield item


@case("")
def generator_send():
    received = yield 0
    while received:
        received = yield log("got", received)
    return "end"


@case("[1, 2]", "5")
def generator_yield_from(items):
    result = yield from items
    log(result)
    yield "last"
    return "value"


@case("")
def generator_delegate_value():
    def inner():
        x = yield 1
        return x

    first = yield from inner()
    second = yield from inner()
    return first, second


@case("")
def generator_try():
    try:
        yield 1
        yield 2
        yield 3
        yield 4
        yield 5
        yield 6
    except KeyError as error:
        log(error)
        yield "recovered"
    finally:
        log("finally")


@case("")
def generator_with():
    with cm("g", KeyError):
        for i in range(8):
            yield i
    yield "after"


@case("")
def generator_close():
    try:
        while True:
            yield 1
    except GeneratorExit:
        log("closing")
        raise
    except KeyError:
        log("key")
    while True:
        yield 2


@case("1", "0")
def generator_return(a):
    if a:
        return "early"
    yield 1


@case("")
def generator_expressions():
    x = [(yield 1), (yield 2)]
    log((yield), (yield x))
    return (yield from [3]) or (yield 4)


@case("3")
def generator_finally_return(n):
    for i in range(n):
        try:
            yield i
        finally:
            if i == 1:
                return "stop"


@case("[[1, [2]], 3]", "[]")
def generator_recursive(items):
    def flatten(value):
        if isinstance(value, list):
            for item in value:
                yield from flatten(item)
        else:
            yield value

    return list(flatten(items))


# Coroutines.
@case("pause(1)", "5")
async def await_simple(a):
    return await a


@case("pause(1), pause(2)")
async def await_expressions(a, b):
    return [await a, log(await b)], f"{await pause('f')}"


@case("pause(1)")
async def await_in_try(a):
    try:
        await a
        fail()
    except ValueError as error:
        await pause("handler")
        log(error)
    finally:
        await pause("finally")
    return "end"


@case("aiter_of(1, 2)", "aiter_of()", "aiter_of(1, ValueError('v'))", "5")
async def async_for(items):
    async for item in items:
        log(item)
    return "end"


@case("aiter_of(0, 1, 2)", "aiter_of(0)", "aiter_of()")
async def async_for_else(items):
    async for item in items:
        if item == 0:
            continue
        if item:
            break
    else:
        log("else")
    return "end"


@case("aiter_of(1, 2)", "aiter_of(2, ValueError('v'))")
async def async_for_in_try(items):
    try:
        async for item in items:
            try:
                if item == 2:
                    return "two"
            finally:
                log("item", item)
    except ValueError:
        log("value")
    finally:
        await pause("last")


@case("acm('a')", "acm('a', ValueError)", "acm('a', fail_exit=True)", "5")
async def async_with(a):
    async with a as name:
        log(name)
        fail()
    return "end"


@case("acm('a'), acm('b'), 0", "acm('a'), acm('b'), 1", "acm('a'), acm('b', ValueError), 2")
async def async_with_two(a, b, c):
    async with a as x, b as y:
        if c == 1:
            return log(x, y)
        if c == 2:
            fail()
        await pause("body")
    return "end"


@case("aiter_of(1, 2, 3)")
async def async_comprehension(items):
    return [x async for x in items if x != 2]


@case("aiter_of(1, 2), aiter_of(3)")
async def async_comprehensions(a, b):
    return {x async for x in a}, {x: await pause(x) async for x in b}, [await pause(i) for i in range(2)]


@case("aiter_of(1, 2)")
async def async_generator(items):
    async for item in items:
        received = yield item
        log(received)
    yield await pause("last")


@case("")
async def async_generator_try():
    try:
        for i in range(9):
            yield i
    except KeyError:
        yield "recovered"
    finally:
        await pause("finally")


@case("aiter_of(1, 2)")
async def async_generator_expression(items):
    generator = (x * 2 async for x in items if x)
    return [y async for y in generator]


# Imports, walrus, lifetimes, odds and ends.
@case("")
def imports():
    import os.path
    import os.path as path
    import json as j, sys
    from os import sep, getcwd as cwd
    from os.path import join as joined, basename

    return os, path.__name__ == os.path.__name__, j, sys, sep, joined, basename, cwd


@case("")
def import_missing():
    try:
        import no_such_module_at_all
    except ImportError:
        no_such_module_at_all = None
    try:
        from os import no_such_name
    except ImportError as error:
        log(type(error))
    return no_such_module_at_all


@case("[1, 2, 3]", "[]")
def walrus(items):
    if (n := len(items)) > 1:
        log(n)
    while (items := items[1:]) and log("loop"):
        log(items)
    return [last := i for i in range(n) if (half := i // 2)], n


@case("5")
def walrus_in_call(a):
    return log((b := a), b), (c := b + 1), c


@case("")
def lifetimes():
    a = Tracked("a")
    Tracked("temporary")
    log("one")
    a = Tracked("b")
    log("two")
    del a
    log("three")
    [Tracked("c"), Tracked("d")]
    return log("end")


@case("")
def lifetime_of_loop():
    for item in (Tracked(str(i)) for i in range(3)):
        log(item)
    log("after")
    item = None
    return log("end")


@case("")
def lifetime_of_argument():
    def use(x):
        log("used", x)

    use(Tracked("argument"))
    log("after")
    with cm("a") as x:
        y = Tracked("in with")
        log("body")
        y = None
        log("end of body")


@case("3, 4", "0, 5")
def nonlocal_chain(a, b):
    def outer():
        c = a

        def inner():
            nonlocal c, b
            c += b
            b = c
            return c

        return inner() + inner(), c

    return outer(), b


@case("'racecar'", "'python'", "''")
def palindrome(text):
    left, right = 0, len(text) - 1
    while left < right:
        if text[left] != text[right]:
            return False
        left += 1
        right -= 1
    return True


@case("'a=1;b=2;bad;c='", "''")
def parser(text):
    result = {}
    for part in text.split(";"):
        if not part:
            continue
        key, separator, value = part.partition("=")
        if not separator:
            log("bad", part)
            continue
        try:
            result[key] = int(value)
        except ValueError:
            result[key] = None
        else:
            log("number", key)
    return result


@case("20")
def sieve(n):
    composite = set()
    for i in range(2, n):
        if i not in composite:
            yield i
            for j in range(i * i, n, i):
                composite.add(j)


@case("[3, 1, 2], 2", "[3, 1, 2], 7", "[], 1")
def state_machine(items, target):
    state = "start"
    position = -1
    while state != "end":
        if state == "start":
            items = sorted(items)
            state = "search" if items else "end"
        elif state == "search":
            for position, item in enumerate(items):
                if item == target:
                    state = "found"
                    break
            else:
                state = "missing"
        elif state == "found":
            log("found at", position)
            state = "end"
        else:
            log(state)
            position = None
            state = "end"
    return position


@case("None", "0", "[]", "N(0)", "N(1)")
def none_tests(a):
    if a is None:
        return "none"
    if a is not None and not a:
        return "falsy"
    while a is not None:
        a = None
    return "truthy"


@case("1, 2", "2, 1")
def shadowed_builtins(a, b):
    print = log
    max = lambda *args: "max"
    print(max(a, b))
    return len([a, b])


@case("'x'", "'y'")
def dict_dispatch(key):
    return {"x": lambda: log("x called"), "y": lambda: fail("y called")}[key]()


@case("3")
def many_exits(n):
    total = 0
    for i in range(n):
        for j in range(n):
            if i == j:
                continue
            if i + j > 3:
                break
            for k in range(n):
                if k == j:
                    break
                if k > i:
                    continue
                total += log(i * 100 + j * 10 + k)
            else:
                log("k done")
    return total


@case("0", "1", "2", "3", "4")
def return_values(a):
    if a == 0:
        return
    if a == 1:
        return ()
    if a == 2:
        return None
    if a == 3:
        return a, *[1]
    return [*range(a)]
