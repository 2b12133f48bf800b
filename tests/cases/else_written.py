# versions: 3.11+
"""Where an else or an elif after a return stood is told by columns only."""


def name_of(argument, hidden):
    default = argument.default
    if argument.options:
        return "/".join(argument.options)
    elif argument.metavar not in (None, hidden):
        return argument.metavar
    elif not argument.dest:
        return default
    else:
        return None


def flat(argument, hidden):
    default = argument.default
    if argument.options:
        return "/".join(argument.options)
    if argument.metavar not in (None, hidden):
        return argument.metavar
    if not argument.dest:
        return default
    return None


def tokens(lines, indents, found):
    for line in lines:
        kind = line.kind
        if kind == "indent":
            indents.append(line)
            continue
        elif kind == "dedent":
            indents.pop()
            continue
        elif kind in ("newline", "nl"):
            found.start = True
        elif found.start and indents:
            found.append(indents[-1])
            found.start = False
        found.append(line)


def nested(action, names):
    if not action.strings:
        default = action.default
        return names(default)
    else:
        parts = []
        if action.nargs == 0:
            parts.extend(action.strings)
        else:
            for option in action.strings:
                parts.append(option)
        return ", ".join(parts)


def behind(action, names):
    if not action.strings:
        default = action.default
        return names(default)
    else:
        parts = []
        parts.extend(action.strings)
    for part in parts:
        names(part)
    return ", ".join(parts)
