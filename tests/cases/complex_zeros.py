# versions: 3.14+
def zeros(x):
    match x:
        case -1 - 0j:
            return 0 - 0j
        case 0 - 0j:
            return -1 - 0j
# output
def zeros(x):
    match x:
        case -1 - 0j:
            return -(0j * (-1 + 0j))
        case 0 - 0j:
            return -(1 + 0j)
