def folded_nan():
    return 1e309 - 1e309, -(1e309 - 1e309), 1e309 * 0
# output
def folded_nan():
    return (1e309 - 1e309), -(1e309 - 1e309), (1e309 - 1e309)
