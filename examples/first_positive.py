"""The worked example of ARCHITECTURE.md."""


def first_positive(items, log):
    try:
        for item in items:
            if item and item > 0:
                return item
    finally:
        log.close()
    return 0
