def f1(a, c, g):
    with a, c:
        try:
            g()
        finally:
            if x:
                y()
        return g
def f2(a, c, g):
    with a, c, b:
        try:
            g()
        finally:
            if x:
                y()
        return g
def f3(a, c, g):
    with a, c, b, d, e:
            if x:
                y()
            return g
def f4(a, c, g):
    with a, c, b, d, e:
            return g
def f5(a, c, g):
    with a:
        with c:
            with b:
                try:
                    g()
                finally:
                    y()
                return g
def figure(a, b, c, d, e, result, f):
    with a,b as print_method,c,d,e,ExitStack() as stack:
        g()
        try:
            with cbook(self.figure, dpi=dpi):
                result = print_method(
                    **kwargs)
        finally:
            if bbox_inches and restore_bbox:
                restore_bbox()

        return result
def deep(a):
    with a:
        with a:
            with a:
                for x in a:
                    with a:
                        with a:
                            with a:
                                if x:
                                    return x
# output
def f1(a, c, g):
    with a, c:
        try:
            g()
        finally:
            if x:
                y()
        return g


def f2(a, c, g):
    with a, c, b:
        try:
            g()
        finally:
            if x:
                y()
        return g


def f3(a, c, g):
    with a, c, b, d, e:
        if x:
            y()
        return g


def f4(a, c, g):
    with a, c, b, d, e:
        return g


def f5(a, c, g):
    with a:
        with c:
            with b:
                try:
                    g()
                finally:
                    y()
                return g


def figure(a, b, c, d, e, result, f):
    with a, b as print_method, c, d, e, ExitStack() as stack:
        g()
        try:
            with cbook(self.figure, dpi=dpi):
                result = print_method(**kwargs)
        finally:
            if bbox_inches and restore_bbox:
                restore_bbox()
        return result


def deep(a):
    with a:
        with a:
            with a:
                for x in a:
                    with a:
                        with a:
                            with a:
                                if x:
                                    return x
