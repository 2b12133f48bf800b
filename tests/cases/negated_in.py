def skips(pairs, dates, texts):
    for a, b in pairs:
        if not a or a.type not in dates or not b or b.type not in texts:
            continue
        replace(a)


def either(node, whole, tests):
    while node:
        if node.kind is int and (node is whole or tests and node.done or node.x == whole.x):
            first(node)
        else:
            second(node)
