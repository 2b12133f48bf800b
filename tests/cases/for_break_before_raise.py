for y in z:
    break
else:
    raise KeyError
raise ValueError
