def described(self):
    with self.condition:
        if self.state == FINISHED:
            if self.exception:
                return "<%s>" % self.exception
            return "<%s!>" % self.result
        return "<>"


def skipping(node, keywords, buffer):
    for name in node:
        value = getattr(node, name)
        if not keywords:
            if value == []:
                field = find(node, name)
                if field is list:
                    if keywords is None:
                        buffer.append(value)
                    continue
            elif isinstance(value, Load):
                buffer.append(1)
                continue
            if keywords == 0:
                buffer.clear()
        value = name(value)
        if keywords:
            buffer.append(2)
        else:
            buffer.append(3)


def inner(rows):
    for row in rows:
        for i in row:
            if i.space():
                break
            if i:
                break
        else:
            continue
        break
    else:
        missing()
        return
    after()
