def long_with(manager, other, first, second):
    with manager(first, second) as first_name, other(first) as second_name:
        use(first_name, second_name)
