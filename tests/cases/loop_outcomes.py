"""Code at the end of one way out of a loop, or out of a try, that only a flag could tell apart from behind it."""


def read(line, source, size):
    while True:
        pos = line.find("\n")
        if pos >= 0:
            end = pos + 1
            break
        if size <= len(line):
            end = size
            break
        while source.more():
            if source.chars:
                break
        if source.chars:
            line += source.take()
        else:
            source.keep("")
            source.snapshot = None
            return line
    source.rewind(len(line) - end)
    return line[:end]


def follower(lexer, hosts):
    while True:
        token = lexer.get()
        if token.startswith("#"):
            lexer.readline()
            continue
        if token in hosts:
            lexer.push(token)
            break
        if token == "login":
            hosts.login = lexer.get()
        elif token == "account":
            hosts.account = lexer.get()
        else:
            raise ValueError("bad follower token %r" % token)
    return hosts


def segment(node, lines):
    try:
        if node.end is None:
            return None
        start = node.start - 1
        end = node.end - 1
    except AttributeError:
        return None
    first = lines[start]
    lines.extend(first)
    return lines[start:end]


def features(found, have):
    if found:
        for name, version in found:
            if not have(name, version):
                return None
    return have


def entries(items, only):
    for item in items:
        if only:
            try:
                if not item.is_dir():
                    continue
            except OSError:
                continue
        path = item.path()
        yield path


def parse_parts(it, sep, split, parsed):
    drive = root = ""
    for part in it:
        if not part:
            continue
        drive, root, rel = split(part)
        if rel:
            parsed.append(rel)
        if drive or root:
            if not drive:
                for part in it:
                    if not part:
                        continue
                    drive = split(part)[0]
                    if drive:
                        break
            break
    return drive, root, parsed
