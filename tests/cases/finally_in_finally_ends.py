"""The body of a `finally` in a `finally`, with a statement of several ways at its end."""


def f(a):
    try:
        a()
    finally:
        try:
            b()
        finally:
            if c:
                d()


def f1(a):
    try:
        a()
    finally:
        try:
            b()
        finally:
            if c:
                d()
            elif e:
                g()
            else:
                h()


def f2(a):
    try:
        a()
    finally:
        try:
            b()
        finally:
            if c:
                try:
                    d()
                except E:
                    g()


def f3(a):
    try:
        a()
    finally:
        try:
            b()
        finally:
            try:
                d()
            except E:
                if c:
                    g()


def f4(a):
    try:
        a()
    finally:
        try:
            b()
        finally:
            for x in c:
                if x:
                    d()


def f5(a):
    for y in a:
        try:
            a()
        finally:
            try:
                b()
            finally:
                with c:
                    d()
                if c:
                    d()


def f6(a):
    try:
        a()
    finally:
        if g:
            try:
                b()
            finally:
                if c:
                    d()


def f7(a):
    try:
        return a()
    finally:
        try:
            b()
        finally:
            try:
                if e:
                    c()
            finally:
                if c:
                    d()


def f8(a):
    try:
        a()
    except E:
        try:
            b()
        finally:
            if c:
                d()


def f9(a):
    try:
        a()
    finally:
        try:
            b()
        except E:
            if c:
                d()
        finally:
            if e:
                g()


def f10(a):
    with a:
        try:
            b()
        finally:
            if c:
                try:
                    d()
                except E:
                    return None
    return 2


def f11(a):
    try:
        a()
    finally:
        try:
            b()
        finally:
            try:
                d()
            except E:
                if c:
                    g()
            else:
                if g:
                    h()
