"""What all adapters share: a Dataset whose batches come in another form, and the place in it."""


class AdaptedIterator:
    """An Iterator whose batches come in another form. Everything else is the Iterator's own:
    state_dict, load_state_dict, get_state, set_state, close, position, statistics, save, load."""

    def __init__(self, iterator, form):
        self._iterator = iterator
        self._form = form

    def __iter__(self):
        return self

    def __next__(self):
        return self._form(next(self._iterator))

    # Written out, since isinstance() with a protocol looks for them in the class.
    def state_dict(self):
        """Returns the place behind the last batch, as the Iterator does."""
        return self._iterator.state_dict()

    def load_state_dict(self, state):
        """Goes on from a place that state_dict() returned."""
        self._iterator.load_state_dict(state)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __len__(self):
        return len(self._iterator)

    def __getattr__(self, name):
        if name.startswith("__") or "_iterator" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self._iterator, name)


class Adapted:
    """A Dataset whose batches come in another form: loop over it as often as you like.

    state_dict() is the place of the newest loop, and load_state_dict() that of the next one to begin,
    so the object itself can be saved and restored, as Lightning and torchtitan do with a loader.
    """

    def __init__(self, dataset, form):
        self.dataset = dataset
        self._form = form
        self._newest = None
        self._next_state = None

    def __iter__(self):
        iterator = iter(self.dataset)
        if self._next_state is not None:
            iterator.load_state_dict(self._next_state)
            self._next_state = None
        self._newest = iterator
        return AdaptedIterator(iterator, self._form)

    def state_dict(self):
        """Returns the place behind the last batch of the newest loop."""
        if self._next_state is not None:
            return dict(self._next_state)
        if self._newest is None:
            self._newest = iter(self.dataset)
        return self._newest.state_dict()

    def load_state_dict(self, state):
        """Lets the next loop go on from a place that a state_dict() returned."""
        self._next_state = dict(state)

    @property
    def element_spec(self):
        """The columns of a batch, as the Dataset has them."""
        return self.dataset.element_spec

    def __len__(self):
        return len(self.dataset)

    def __repr__(self):
        return f"{type(self).__name__}({self.dataset!r})"

    def __getstate__(self):
        # A loop belongs to its process; the Dataset pickles as its description.
        return {**self.__dict__, "_newest": None}
