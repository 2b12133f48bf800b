# versions: 3.10+
def match_complex(x):
    match x:
        case -1 + 2j:
            return 1
        case 1 - 2.5j:
            return 2
        case 0 - 1j:
            return 3
        case -2j:
            return 4
        case 0j:
            return 5
        case -0.0:
            return 6
