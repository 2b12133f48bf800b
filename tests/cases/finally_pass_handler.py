def returned(k, q, close, E):
    try:
        return q(k)
    except E:
        pass
    finally:
        if k:
            close(k)
