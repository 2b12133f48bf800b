# versions: 3.14+
def several(a):
    try:
        a()
    except (ValueError, TypeError):
        handle()
