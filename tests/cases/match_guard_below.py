# versions: 3.11+
def guarded(node, name):
    match node:
        case Function(
            locals={
                "__class__": [Class()], "another_name_of_some_length": other, "and_one_more": more
            },
            parent=parent,
        ) if name == "__class__":
            return
    if isinstance(node, Name):
        match node:
            case Function(value=value):
                if name == "__class__":
                    return
        match node:
            case Function(value=value):
                if not name:
                    print(value)
    print(name)


async def tested(node, queue):
    match node:
        case Function(value=value):
            if await queue.get():
                print(value)
    match node:
        case [first, *_]:
            if (found := queue.first()) > first:
                print(found)
    match node:
        case {"key": value}:
            if [x for x in queue] or -value > 1:
                print(value)
    return node
