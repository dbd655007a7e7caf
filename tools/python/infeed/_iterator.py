"""Iterator: one consumer's place in the stream."""

import atexit
import re
import weakref

from ._errors import Error, invalid
from ._place import BadRow

KEY = "infeed"
_FILE = "infeed.txt"  # in a directory of Orbax
live = weakref.WeakSet()
# A Python function that sleeps can't be ended: it ends with the process.
_SECONDS_MAX_AT_EXIT = 1.0


def _close_all():
    """Ends all iterations before Python goes: their threads may be calling Python functions."""
    for iterator in list(live):
        iterator.close(_SECONDS_MAX_AT_EXIT)


atexit.register(_close_all)


def checkpoint_of(state):
    if isinstance(state, dict) and isinstance(state.get(KEY), str):
        return state[KEY]
    if isinstance(state, str):
        return state
    raise invalid(f"the state is {type(state).__name__}; it must be what state_dict() returned: "
                  "{'infeed': '...'}")


def number_in(checkpoint, name):
    """Returns the number in the line of that name of a checkpoint, which is text; 0 if it has none. The engine
    refuses a damaged one."""
    found = re.search(rf"^{name} (\d+)$", checkpoint, re.MULTILINE | re.ASCII)
    return int(found[1]) if found else 0


def epoch_of(options):
    """The number of the pass, which a checkpoint's text has in a line of its own."""
    if options.get("resume") is None:
        return options["epoch"]
    return number_in(options["resume"], "epoch")


class Resumable:
    """What every kind of iterator does by its next(), state_dict(), load_state_dict(), position and close()."""

    def __iter__(self):
        return self

    # The names of Grain.
    def get_state(self):
        """As state_dict."""
        return self.state_dict()

    def set_state(self, state):
        """As load_state_dict."""
        self.load_state_dict(state)

    # Orbax's StatefulCheckpointable.
    async def save(self, directory):
        """Writes the place to a directory of Orbax; returns an awaitable, as it wants."""
        text = self.state_dict()[KEY]

        async def write():
            path = await directory.await_creation()
            (path / _FILE).write_text(text)

        return write()

    async def load(self, directory):
        """Goes on from a place that save() wrote; returns an awaitable."""
        text = (directory / _FILE).read_text()

        async def resume():
            self.load_state_dict(text)

        return resume()

    @property
    def element_spec(self):
        """As Dataset.element_spec."""
        return self._dataset.element_spec

    def __len__(self):
        return len(self._dataset)

    def __length_hint__(self):
        count = self._dataset.cardinality
        return max(0, count - self.position) if isinstance(count, int) else NotImplemented

    def __bool__(self):
        return True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Iterator(Resumable):
    """One consumer's place in the stream of a dataset.

        with iter(dataset) as batches:
            for batch in batches:
                step(batch)
                if batches.position % 1000 == 0:
                    save(batches.state_dict())

    next() raises infeed.Error in the place of a failed element, and goes on behind it at the next
    call, unless the error is_terminal. It waits without the interpreter's lock, and Ctrl-C ends it.

    It works in any thread, one call at a time. It doesn't work across os.fork(): the child gets an
    Error; iterate there anew.
    """

    def __init__(self, dataset, options):
        self._core = None
        options = dict(options)
        if options.get("resume") is not None:
            options["resume"] = checkpoint_of(options["resume"])
        self._dataset = dataset
        self._consumers = dataset._consumers
        self._core = dataset._core.iterate(options)
        self._next = self._core.next
        self._next_and_position = self._core.next_and_position
        self._epoch = epoch_of(options)
        live.add(self)

    def __next__(self):
        if not self._consumers:
            return self._next()
        element, position = self._next_and_position()
        for consumer in self._consumers:
            element = consumer(element, self._epoch, position)
        return element

    # The place.

    @property
    def position(self):
        """Elements taken so far, errors and those before a resume included."""
        return self._core.position()

    def state_dict(self):
        """This place: {"infeed": text}, under a kilobyte. The same pipeline goes on from it."""
        return {KEY: self._core.checkpoint()}

    def load_state_dict(self, state):
        """Goes on from a place that state_dict() returned, in this or another process. If that raises an Error,
        it stays where it was."""
        checkpoint = checkpoint_of(state)
        self._core.resume(checkpoint)
        self._dataset._count_behind(checkpoint)
        self._epoch = epoch_of({"resume": checkpoint})

    def read_ahead_until(self, position):
        """Says that elements from this position on won't be asked for soon, so that nothing makes them
        ahead: an evaluation of ten batches calls read_ahead_until(batches.position + 10). It may be moved
        on at any time; an element behind it is made when it is asked for. Stages whose elements can't
        be counted from the end (filter, shuffle, interleave, and all before them) read ahead as ever."""
        self._core.read_ahead_until(position)

    # Watching.

    @property
    def bad_rows(self):
        """The bad records among the rows so far, sorted, each once: a list of BadRows. It needs
        parse(..., keep_rows=True), whose column "bad_row" it reads, and begins anew with
        load_state_dict(). infeed.merge_bad_rows() merges the lists of several hosts."""
        return sorted(self._bad_rows_since(0))

    def _bad_rows_since(self, first):
        """Those behind the first ones, in the order in which they were taken."""
        return [BadRow(*row) for row in self._core.bad_rows(first)]

    def statistics(self):
        """What each stage did so far: print it, or ask for its verdict()."""
        return self._core.statistics()

    def tuning(self):
        """What the tuner chose, and why."""
        return self._core.tuning()

    @property
    def order_hash(self):
        """One number for all elements so far and their order; needs iterate(order_hash=True)."""
        return self._core.order_hash()

    # The end.

    def cancel(self):
        """Ends the iteration from another thread: a waiting next() raises Error "cancelled"."""
        self._core.cancel()

    def close(self, seconds_max=float("inf")):
        """Ends the iteration and frees all that it holds. Afterwards next() raises an Error.

        Running Python functions are waited for, since nothing can end them; seconds_max limits
        that. Returns False if the rest is done in the background.
        """
        live.discard(self)
        return self._core is None or self._core.close(seconds_max)

    @property
    def is_closed(self):
        """True behind close(), and behind the end of `with`."""
        return self._core.is_closed

    def __repr__(self):
        if self.is_closed:
            return "<infeed.Iterator, closed>"
        return f"<infeed.Iterator at {self.position} of {self._dataset!r}>"

    def __reduce__(self):
        raise Error("an iterator has threads and can't be pickled: pickle the dataset, and "
                    "state_dict() beside it", "failed_precondition")
