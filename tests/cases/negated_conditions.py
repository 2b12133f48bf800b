def closing(et, aborting, errors, done):
    if et is not None and not aborting:
        errors.append(et)
    if not aborting and not errors:
        done()
    if not (aborting and errors):
        done(1)
    while et not in errors or not done:
        et = done(et)
    return et is not None and not errors
