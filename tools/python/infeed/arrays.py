"""Batches as dictionaries of NumPy arrays."""

from ._adapted import Adapted, as_batch


def _batch_as_numpy(batch):
    return as_batch(batch).numpy()


def numpy(dataset):
    """Returns an iterable of dictionaries of NumPy arrays: views, without a copy.

    An array is read-only where others see the same memory (a cache, NumPy arrays of yours). bfloat16
    is ml_dtypes.bfloat16 if that package is there, otherwise uint16 with the bits. Sequences are
    infeed.Ragged, texts arrays of bytes; a padded column NAME has its lengths in NAME.lengths.
    """
    return Adapted(dataset, _batch_as_numpy)
