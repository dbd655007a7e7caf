"""Batches as dictionaries of TensorFlow tensors, and as a tf.data.Dataset."""

import tensorflow as _tf

from ._adapted import Adapted, AdaptedIterator, Passes, as_batch


def _batch_as_tensors(batch):
    return as_batch(batch).tf()


def iterable(dataset):
    """Returns an iterable of dictionaries of eager tensors; sequences are tf.RaggedTensor.

    Tensors share the engine's memory where that begins at a multiple of 64 bytes. The rest is copied:
    TensorFlow would take it, and abort the process at the first slice.
    """
    return Adapted(dataset, _batch_as_tensors)


def _spec_of_batch(batch):
    """Returns what tensors of such batches look like; the number of rows may differ."""
    batch, specs = as_batch(batch), {}
    for name, tensor in batch.tf().items():
        if isinstance(tensor, _tf.RaggedTensor):
            inner = [None] * tensor.ragged_rank + list(tensor.flat_values.shape[1:])
            specs[name] = _tf.RaggedTensorSpec([None] + inner, tensor.dtype, tensor.ragged_rank)
        else:
            shape = [None] + list(tensor.shape[1:])
            if name in batch and batch[name].kind == "padded":  # the lengths are no column
                shape[1] = None  # the width is the longest row's
            specs[name] = _tf.TensorSpec(shape, tensor.dtype)
    return specs


def element_spec(dataset):
    """Returns the dictionary of tf.TensorSpec and tf.RaggedTensorSpec of the Dataset's batches, by
    reading the first batch."""
    with dataset.iterate(epoch=0) as iterator:
        try:
            return _spec_of_batch(next(iterator))
        except StopIteration:
            raise ValueError("the Dataset is empty, so the types of its batches are unknown") from None


def dataset(dataset, *, form=None, element_spec=None):  # pylint: disable=redefined-outer-name
    """Returns a tf.data.Dataset of dictionaries of tensors, by from_generator.

    Each batch passes through a Python call of TensorFlow's, which costs about half a millisecond: a
    plain loop over Dataset.tf() is quicker. Whoever prefetches it reads ahead, so its place in the
    data is no state to resume from; start it anew from dataset.skip(steps).

    form: a function of a dictionary, whose result is given instead. element_spec: the
    result's tf.TypeSpecs; without it the first batch is read twice, to see them.
    """
    if element_spec is None:
        element_spec = globals()["element_spec"](dataset)
        if form is not None:
            element_spec = form(element_spec)

    passes = Passes(dataset)

    def generate():
        with AdaptedIterator(passes, _batch_as_tensors) as iterator:
            for columns in iterator:
                yield columns if form is None else form(columns)

    result = _tf.data.Dataset.from_generator(generate, output_signature=element_spec)
    try:
        return result.apply(_tf.data.experimental.assert_cardinality(len(dataset)))
    except TypeError:  # the length isn't known
        return result
