def restore(saved, missing, state, table):
    try:
        with state(table) as module:
            module.check()
    finally:
        if saved is not missing:
            table["email"] = saved


def switch(system, interval, threads):
    old = system.get()
    system.set(interval)
    try:
        made = []
        with threads(lambda: made.append(1)):
            system.sleep(1.0)
    finally:
        system.set(old)
    system.collect()
