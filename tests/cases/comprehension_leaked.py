# versions: 3.12-3.12
def picked(table, rows):
    for row in rows:
        break
        [head for key in table]
    if {key: item for item in table}:
        return row
    return (other for other in rows if key)
# output
def picked(table, rows):
    if 0: key_2 = None
    for row in rows:
        break
    if {key_2: item for item in table}:
        return row
    return (other for other in rows if key)
