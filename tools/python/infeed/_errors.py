"""The exception that everything of the engine raises."""

import numbers


class Error(Exception):
    """What went wrong, where, and what to do.

    code: a word: invalid_argument, not_found, permission_denied, already_exists, data_loss,
        resource_exhausted, failed_precondition, deadline_exceeded, unavailable, cancelled,
        user_function, internal.
    message: the text without the places.
    stage: path of the stage, outermost first: "batch(1024) < map"; None outside a pipeline.
    file, offset, record: where in the data; None where it isn't known.
    is_terminal: whether the stream ends with it. Otherwise it takes the place of one element, and
        next() goes on behind it.

    The exception of a Python function is its __cause__.
    """

    code = "internal"
    message = None
    stage = None
    file = None
    offset = None
    record = None
    is_terminal = False

    def __init__(self, text, code=None):
        super().__init__(text)
        self.message = text
        if code is not None:
            self.code = code

    def __reduce__(self):
        return (_restored, (type(self), self.args, self.__dict__))


def _restored(kind, args, members):
    error = kind(*args)
    error.__dict__.update(members)
    return error


def invalid(text):
    return Error(text, "invalid_argument")


def require_whole(option, value, at_least):
    """Refuses what is no whole number of at least so much. NumPy's are some."""
    if not isinstance(value, numbers.Integral) or value < at_least:
        raise invalid(f"{option} is {value!r}; it must be a whole number, {at_least} or more")
