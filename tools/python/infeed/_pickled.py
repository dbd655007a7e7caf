"""What pickles of batches and columns name."""

from . import _core


def batch(names, columns):
    """Returns the batch of these parts."""
    return _core._batch_of_parts(names, columns)


def column(parts):
    """Returns the column of these parts."""
    return _core._column_of_parts(parts)
