def long_with(manager, other, first_argument, second_argument):
    with manager(first_argument, second_argument) as first_name, other(first_argument) as second_name:
        use(first_name, second_name)
