"""``return`` out of a ``try`` with ``except`` and ``finally`` in a loop: its copy of the ``finally`` body is in the middle."""


def loop_1(q):
    while True:
        job = q.get()
        try:
            if job is None:
                return
            job()
        finally:
            q.done()


def loop_2(q):
    while True:
        job = q.get()
        try:
            if job is None:
                return
            job()
        except E:
            k()
        finally:
            q.done()


def loop_3(q):
    for job in q:
        try:
            if job is None:
                return
            job()
        except E:
            k()
        finally:
            q.done()
    z()


def loop_4(q):
    while True:
        job = q.get()
        try:
            if job is None:
                return 1
            job()
        except E:
            k()
        finally:
            q.done()


def worker(q, results):
    while True:
        job = q.get()
        try:
            if job is None:
                return
            results.append(job())
        except Exception as e:
            results.append(e)
        finally:
            q.task_done()
