"""Values that are returned from inside a try."""


def tuple_of(encoded, decode, errors, pad):
    try:
        return decode(encoded, validate=True), [errors.padding()] if pad else []
    except errors.Error:
        return encoded


def short_circuit(future, timeout):
    try:
        return future.result(timeout)
    finally:
        future.done() or future.cancel()
