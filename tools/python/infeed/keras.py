"""Training with keras.Model.fit. Keras refuses plain iterators, so there are two forms: a generator, for one epoch of
any Keras; and an adapter, for any number of epochs, with a state to resume from."""

import collections as _collections

from keras.src.trainers.data_adapters.data_adapter import DataAdapter as _DataAdapter

import keras as _keras

from ._adapted import AdaptedIterator as _AdaptedIterator
from ._adapted import Passes as _Passes
from ._adapted import as_batch as _as_batch

STATES_KEPT = 64  # more than any trainer of Keras reads ahead
LOOKED_AT_MAX = 4  # batches, of which a trainer takes one to learn the shapes, and tf.data up to three ahead


class _Form:
    """Picks inputs, targets and weights out of a dictionary, as fit() wants them."""

    def __init__(self, inputs, targets, sample_weight):
        self.names = [name for name in (inputs, targets, sample_weight) if name is not None]

    @staticmethod
    def _picked(columns, names):
        if isinstance(names, str):
            return columns[names]
        return {name: columns[name] for name in names}

    def __call__(self, columns):
        return tuple(self._picked(columns, names) for names in self.names)


def generator(dataset, inputs, targets=None, sample_weight=None):
    """Returns a generator of tuples (inputs, targets[, weights]) of NumPy arrays, which fit() takes for one epoch.

    Each of the three is a column's name, or a list of names that becomes a dictionary.
    """
    form = _Form(inputs, targets, sample_weight)
    with iter(dataset) as iterator:
        for batch in iterator:
            yield form(_as_batch(batch).numpy())


class Adapter(_DataAdapter):
    """What fit() asks for batches; each epoch is one pass over the Dataset.

    Where len(dataset) isn't known, Keras asks for batches until the pass ends: tf.data then says OutOfRange, the other
    backends see StopIteration. Give steps_per_epoch for a Dataset without an end.

    Trainers read ahead, so ask for a place by the number of batches that were trained:
    state_after(n), which the callback CurrentState does. A pass may be longer than an epoch (steps_per_epoch),
    so batches are counted over all passes.
    """

    def __init__(self, dataset, inputs, targets=None, sample_weight=None):
        self.dataset = dataset
        self._form = _Form(inputs, targets, sample_weight)
        self._passes = _Passes(dataset)
        self._states = _collections.OrderedDict()  # by batches given so far
        self._given = self._trained = 0
        self._is_cut = False  # the newest pass hasn't come to its end

    def _pass(self, form):
        count = 0
        with _AdaptedIterator(self._passes, lambda batch: self._form(form(_as_batch(batch)))) as iterator:
            if self._is_cut:  # what it gave ahead is never trained
                self._given = self._trained
                for later in [number for number in self._states if number >= self._given]:
                    del self._states[later]
            self._is_cut = True
            self._states[self._given] = iterator.state_dict()
            try:
                for count, batch in enumerate(iterator, 1):
                    self._given += 1
                    self._states[self._given] = iterator.state_dict()
                    if len(self._states) > STATES_KEPT:
                        self._states.popitem(last=False)
                    yield batch
                self._is_cut = False
            except GeneratorExit:
                # The first fit() learns the shapes from a batch, throws it away, and begins anew: that was no pass.
                if count <= LOOKED_AT_MAX:
                    self._passes.take_back(iterator.begun)
                raise

    def begin_training(self):
        """Returns how many batches count as trained already: all that were given to whatever came before."""
        self._trained = self._given
        return self._trained

    def note_trained(self, batches):
        """Says that so many batches were trained in all; returns how many of them were given."""
        batches = min(batches, self._given)
        self._trained = max(self._trained, batches)
        return batches

    def state_after(self, batches):
        """Returns the place behind so many batches, counted over all passes of this adapter."""
        if batches not in self._states:
            raise KeyError(f"the place behind batch {batches} isn't kept: there are the last "
                           f"{STATES_KEPT}, up to {max(self._states, default=0)}")
        return self._states[batches]

    def load_state_dict(self, state):
        """Lets the next epoch begin at that place; at the end of a pass, with the pass behind it.

        Where len(dataset) isn't known, Keras takes the length of fit()'s first epoch for all, and this one may be
        short: for several epochs tell it with Dataset.assert_cardinality().
        """
        self._passes.load_state_dict(state)

    def get_numpy_iterator(self):
        return self._pass(lambda batch: batch.numpy())

    def get_jax_iterator(self):
        return self.get_numpy_iterator()

    def get_tf_dataset(self):
        import tensorflow as tf  # pylint: disable=import-outside-toplevel
        from . import tf as infeed_tf  # pylint: disable=import-outside-toplevel
        spec = self._form(infeed_tf.element_spec(self.dataset))
        return tf.data.Dataset.from_generator(
            lambda: self._pass(lambda batch: batch.tf()), output_signature=spec).prefetch(2)

    def get_torch_dataloader(self):
        import torch.utils.data as data  # pylint: disable=import-outside-toplevel

        class Batches(data.IterableDataset):
            """One pass."""

            def __iter__(_self):
                return self._pass(lambda batch: batch.torch())

        return data.DataLoader(Batches(), batch_size=None)

    @property
    def num_batches(self):
        # Also where a resumed pass has fewer: without a number Keras takes the first epoch's for all.
        try:
            return len(self.dataset)
        except TypeError:
            return None

    @property
    def batch_size(self):
        return None

    @property
    def has_partial_batch(self):
        return None

    @property
    def partial_batch_size(self):
        return None


def adapter(dataset, inputs, targets=None, sample_weight=None):
    """Returns an object that fit() takes as x, for any number of epochs. Arguments as for generator()."""
    return Adapter(dataset, inputs, targets, sample_weight)


class CurrentState(_keras.callbacks.Callback):
    """Knows the place behind the last trained batch, whatever the trainer has read ahead.

    Its .state is None before the first batch. Save it beside the weights, and hand it to
    Adapter.load_state_dict() after a restart.
    """

    def __init__(self, data_adapter):
        super().__init__()
        self._adapter = data_adapter
        self._before = self._trained = 0  # batches before this epoch, and of this one
        self.state = None

    def on_train_begin(self, logs=None):
        self._before, self._trained = self._adapter.begin_training(), 0

    def on_epoch_begin(self, epoch, logs=None):
        self._before, self._trained = self._before + self._trained, 0

    def on_train_batch_end(self, batch, logs=None):
        # With steps_per_execution it is called once for several; older versions of Keras name the first of them.
        each = getattr(self.model, "steps_per_execution", None) or 1
        trained = batch + each if batch % each == 0 else batch + 1
        known = self._adapter.note_trained(self._before + trained)
        self._trained = known - self._before
        self.state = self._adapter.state_after(known)
