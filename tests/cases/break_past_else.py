def packages(filenames, names):
    for filename in filenames:
        if not filename.endswith(".whl"):
            continue
        for name in names:
            prefix = name + "-"
            if filename.startswith(prefix):
                break
        else:
            continue
        version = filename.removeprefix(prefix)
        found[name] = version
    return found


def combinations(indices, n, r):
    while True:
        for i in reversed(range(r)):
            if indices[i] != i + n - r:
                break
        else:
            return
        indices[i] += 1
        for j in range(i + 1, r):
            indices[j] = indices[j - 1] + 1
        yield tuple(indices)
