"""What adapters share: a Dataset whose batches come in another form, and the place in it."""

from typing import NamedTuple, Optional

from . import _core
from ._iterator import KEY, Resumable, checkpoint_of

_END = object()


def as_batch(element):
    """Returns the element as a Batch; functions of map_batches(where="consumer") may return a mapping."""
    return element if isinstance(element, _core.Batch) else _core.batch(element)


class AdaptedIterator(Resumable):
    """An Iterator whose batches come in another form. Everything else is the Iterator's own:
    state_dict, load_state_dict, get_state, set_state, close, position, statistics, save, load."""

    def __init__(self, passes, form):
        self._passes = passes
        self._form = form
        self._iterator, self.begun = passes.begin()
        self._may_be_over = self.begun.state is not None

    def __next__(self):
        may_be_over, self._may_be_over = self._may_be_over, False
        element = next(self._iterator, _END)
        if element is _END and may_be_over:  # the state was the place of a pass's end
            self._iterator.close()
            self._iterator, self.begun = self._passes.begin()
            element = next(self._iterator, _END)
        if element is _END:
            raise StopIteration
        return self._form(element)

    # Written out, since isinstance() with a protocol looks for them in the class.
    def state_dict(self):
        """Returns the place behind the last batch, as the Iterator does."""
        return self._iterator.state_dict()

    def load_state_dict(self, state):
        """Goes on from a place that state_dict() returned."""
        self._iterator.load_state_dict(state)
        self._may_be_over = False
        self._passes.move(self.begun, self._iterator._epoch)

    @property
    def position(self):
        """As Iterator.position."""
        return self._iterator.position

    def close(self, seconds_max=float("inf")):
        """As Iterator.close."""
        return self._iterator.close(seconds_max)

    def __getattr__(self, name):
        if name.startswith("__") or "_iterator" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self._iterator, name)


class Begun(NamedTuple):
    """A pass that has begun."""

    number: int
    state: Optional[dict]  # which it was resumed from


class Passes:
    """Passes over a Dataset, which counts them; or from a state on, which the next one begins at, and from
    which those behind it are counted."""

    def __init__(self, dataset):
        self.dataset = dataset
        self._number = None  # of the next pass; None: the Dataset counts
        self._state = None
        self._newest = None

    def begin(self):
        """Returns the Iterator of the next pass, and what it is. A pass that begins at the place of its end has no
        batches; AdaptedIterator goes on with the one behind it."""
        options = {"resume": self._state}
        if self._state is None and self._number is not None:
            options["epoch"] = self._number
        iterator = self.dataset.iterate(**options)
        self._newest = begun = Begun(iterator._epoch, self._state)
        if self._state is not None or self._number is not None:
            self._number = iterator._epoch + 1
        self._state = None
        return iterator, begun

    def take_back(self, begun):
        """Lets the next pass be this one again, if it is the newest."""
        if self._newest is begun:
            self._number, self._state = begun

    def move(self, begun, number):
        """Says that this pass has gone on in the pass of that number, behind which the next one counts if this
        is the newest. Where the Dataset counts, it has noted that itself."""
        if self._newest is begun and self._number is not None:
            self._number = number + 1

    @property
    def state(self):
        """The state that the next pass begins at, or None."""
        return self._state

    def load_state_dict(self, state):
        """Lets the next pass begin at that place."""
        self._state = {KEY: checkpoint_of(state)}


class Adapted:
    """A Dataset whose batches come in another form: loop over it as often as you like; each loop is an
    epoch, which the Dataset counts.

    state_dict() is the place of the newest loop, and load_state_dict() that of the next one to begin,
    so the object itself can be saved and restored, as Lightning and torchtitan do with a loader. Behind the
    place of an epoch's end the next loop is the next epoch.
    """

    def __init__(self, dataset, form):
        self.dataset = dataset
        self._form = form
        self._passes = Passes(dataset)
        self._newest = None
        self._is_begun = False  # _newest is a pass that no loop has taken yet

    def __iter__(self):
        if not self._is_begun:
            self._newest = AdaptedIterator(self._passes, self._form)
        self._is_begun = False
        return self._newest

    def state_dict(self):
        """Returns the place behind the last batch of the newest loop."""
        if self._passes.state is not None:
            return dict(self._passes.state)
        if self._newest is None:
            self._newest, self._is_begun = AdaptedIterator(self._passes, self._form), True
        return self._newest.state_dict()

    def load_state_dict(self, state):
        """Lets the next loop go on from a place that a state_dict() returned."""
        self._passes.load_state_dict(state)
        self._is_begun = False

    @property
    def element_spec(self):
        """The columns of a batch, as the Dataset has them."""
        return self.dataset.element_spec

    def __len__(self):
        return len(self.dataset)

    def __bool__(self):
        return True

    def __repr__(self):
        return f"{type(self).__name__}({self.dataset!r})"

    def __getstate__(self):
        # A loop belongs to its process; the Dataset pickles as its description.
        return {**self.__dict__, "_newest": None, "_is_begun": False}
