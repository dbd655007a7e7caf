"""Batches made by Ray actors, on any machines of the cluster: infeed.ray.feed(dataset, workers=8).

A batch is a function of the dataset and its step, so a request is a range of steps, and an actor that
is gone is replaced by another: each batch comes exactly once, in order, at any number of actors.
"""

import itertools
from collections import deque

import ray as _ray

from . import _core
from ._dataset import Dataset
from ._errors import Error, invalid
from ._iterator import KEY, Resumable, checkpoint_of, epoch_of, live, number_in
from ._processes import arrived, portable


def feed(dataset, workers=8, *, range_steps=8, ranges_ahead=2, slow_after=60.0, **actor_options):
    """Returns the dataset, whose batches are made by `workers` Ray actors. It must be the last stage but
    for map_batches' consumer.

    range_steps: the steps of one call. An actor seeks once a range and Ray costs about 1 ms a call, so
        more of them cost less.
    ranges_ahead: ranges under way at each actor: so many of their batches wait in the object store.
    slow_after: seconds after which another actor is asked for a range that doesn't come.
    actor_options: as ray.remote takes them: num_cpus, resources, scheduling_strategy, runtime_env.

    Each actor must find the files by the same names, and infeed installed. An actor that dies is
    started again by Ray. Raises Error "failed_precondition" that names the stage for a dataset that
    can't be asked by step: a source whose number of elements isn't known, scan, unique.
    """
    if min(workers, range_steps, ranges_ahead) < 1:
        raise invalid("ray.feed: workers, range_steps and ranges_ahead are 1 or more")
    _core.check_can_be_asked_by_step(dataset._core)
    # A call needs no state of its actor, so Ray may make it again in one that it has restarted.
    options = {"max_restarts": -1, "max_task_retries": -1, **actor_options}
    maker = _ray.remote(_Maker).options(**options)
    return FedDataset(dataset, [maker.remote(Dataset(dataset._core)) for _ in range(workers)],
                      {"range_steps": range_steps, "ranges_ahead": ranges_ahead,
                       "slow_after": slow_after})


def _moved(place, position):
    """Returns the checkpoint of a later place before which no element failed: stages seek there."""
    lines = [f"position {position}" if line.startswith("position ") else line
             for line in place.splitlines() if not line.startswith("checksum ")]
    return "\n".join(lines) + "\n"


class _Maker:
    """The actor. What it keeps only spares it a seek when the next range follows the last one."""

    def __init__(self, dataset):
        self._dataset = dataset
        self._iterator, self._run = None, None
        self._told = 0  # bad rows of the iterator that the trainer knows

    def make(self, run, first, steps, place, epoch):
        """Returns (kind, value, checkpoint behind it, its bad rows) of each step; without steps the
        place at the start."""
        try:
            self._go_to(run, first, place, epoch)
            if steps == 0:
                return [("place", None, self._iterator.state_dict()[KEY], [])]
            self._iterator.read_ahead_until(first + steps)  # others make what follows
            made = []
            while len(made) < steps and (not made or made[-1][0] in ("element", "error")):
                made.append(self._make_one())
            return made
        except Exception as error:  # pylint: disable=broad-exception-caught
            self._iterator = None
            return [("failed", portable(error), None, [])]

    def _make_one(self):
        try:
            answer = ("element", next(self._iterator))
        except StopIteration:
            answer = ("end", None)
        except Error as error:
            answer = ("failed" if error.is_terminal else "error", portable(error))
        bad_rows = self._iterator._bad_rows_since(self._told)
        self._told += len(bad_rows)
        return (*answer, self._iterator.state_dict()[KEY], bad_rows)

    def _go_to(self, run, first, place, epoch):
        if self._iterator is not None:
            if self._run == run and self._iterator.position == first:
                return
            self._iterator.close()
        self._run, self._told = run, 0
        if place is None:
            self._iterator = self._dataset.iterate(epoch=epoch)
        elif number_in(place, "errors") == 0:
            self._iterator = self._dataset.iterate(resume=_moved(place, first))
        else:  # a failed element may have moved those behind it, so each is looked at
            self._iterator = self._dataset.iterate(resume=place)
            while self._iterator.position < first and self._make_one()[0] not in ("end", "failed"):
                pass


class FedDataset(Dataset):
    """A dataset whose batches Ray actors make. They live as long as it does."""

    __slots__ = ("_makers", "_options", "_runs")

    def __init__(self, dataset, makers, options):
        super().__init__(dataset._core, dataset._consumers)
        self._makers, self._options = makers, options
        self._runs = itertools.count()

    def _then(self, kind, options, inputs=(), objects=None):
        raise invalid(f"{kind} stands behind ray.feed(), which must be the last stage")

    def iterate(self, **options):
        """As Dataset.iterate; of its options it takes resume and epoch."""
        others = set(options) - {"resume", "epoch"}
        if others:
            raise invalid(f"ray.feed: iterate() doesn't take {', '.join(sorted(others))} here")
        return self._begun(FedIterator, options)

    def _with_consumers(self, consumers):
        other = FedDataset(Dataset(self._core, consumers), self._makers, self._options)
        other._runs = self._runs  # an actor knows a run by its number
        return other

    def __repr__(self):
        return f"{super().__repr__()[:-1]} | ray.feed(workers={len(self._makers)})>"

    def __reduce__(self):
        raise Error("a dataset fed by Ray actors can't be pickled: pickle the one given to ray.feed()",
                    "failed_precondition")


class _Range:
    """Steps that actors are asked for: of a run, from a place on."""

    def __init__(self, run, place, epoch, first, steps):
        self.run, self.place, self.epoch = run, place, epoch
        self.first, self.steps = first, steps
        self.calls, self.failures = [], 0


class FedIterator(Resumable):
    """An Iterator whose batches come from Ray actors. It has the Iterator's methods, but those that tell of
    the pipeline itself: statistics(), tuning() and order_hash."""

    def __init__(self, dataset, options):
        self._dataset = dataset
        self._turns = itertools.cycle(dataset._makers)
        resume = options.get("resume")
        resume = None if resume is None else checkpoint_of(resume)
        self._epoch = epoch_of({**options, "resume": resume})
        self._is_closed = self._is_cancelled = False
        self._until = None
        self._bad_rows = set()
        self._begin(resume)
        # An actor says whether it can go on from there.
        kind, value, place, _ = self._answer_of(self._ask(self._place, self._epoch, self._position, 0))[0]
        if kind == "failed":
            raise arrived(value)
        if self._place is None:
            self._begin(place)
        live.add(self)

    def _begin(self, place):
        """Goes on behind a place; whatever was asked for before doesn't count any more."""
        self._run = next(self._dataset._runs)
        self._place = place
        self._position = self._asked_to = 0 if place is None else number_in(place, "position")
        self._ranges, self._made, self._is_over = deque(), deque(), False

    def _ask(self, place, epoch, first, steps, run=None):
        """Asks the next actor for a range."""
        wanted = _Range(self._run if run is None else run, place, epoch, first, steps)
        self._ask_another(wanted)
        return wanted

    def _ask_another(self, wanted):
        maker = next(self._turns)
        wanted.calls.append(maker.make.remote(wanted.run, wanted.first, wanted.steps, wanted.place, wanted.epoch))

    def _ask_ahead(self):
        options = self._dataset._options
        makers = len(self._dataset._makers)
        if self._place is not None and number_in(self._place, "errors"):
            makers = 1  # the others would make the same elements
        while len(self._ranges) < makers * options["ranges_ahead"]:
            steps = options["range_steps"]
            if self._until is not None and self._ranges:
                steps = min(steps, self._until - self._asked_to)
                if steps < 1:
                    break
            self._ranges.append(self._ask(self._place, self._epoch, self._asked_to, steps))
            self._asked_to += steps

    def _answer_of(self, wanted):
        """Waits for the first answer to a range, and asks others if it doesn't come."""
        while True:
            ready, _ = _ray.wait(wanted.calls, timeout=self._dataset._options["slow_after"])
            if not ready:
                if len(wanted.calls) > len(self._dataset._makers):
                    raise Error(f"ray.feed: no actor has made steps {wanted.first} to "
                                f"{wanted.first + wanted.steps - 1} in the time of slow_after",
                                "unavailable")
                self._ask_another(wanted)
                continue
            try:
                return _ray.get(ready[0])
            except _ray.exceptions.RayError as error:  # the actor died, or what it made is lost
                wanted.calls.remove(ready[0])
                wanted.failures += 1
                if wanted.failures > 2 * len(self._dataset._makers):
                    raise Error(f"ray.feed: {wanted.failures} actors in a row failed to make steps from "
                                f"{wanted.first} on: {error}", "unavailable") from error
                self._ask_another(wanted)

    def __next__(self):
        self._check()
        if self._is_over:
            raise StopIteration
        if not self._made:
            self._ask_ahead()
            # It stays asked for if the wait is interrupted.
            made = self._answer_of(self._ranges[0])
            self._ranges.popleft()
            self._made.extend(made)
        kind, value, place, bad_rows = self._made.popleft()
        if kind == "failed":
            self._made.appendleft((kind, value, place, bad_rows))
            raise arrived(value)
        self._bad_rows.update(bad_rows)
        had_errors, self._place = number_in(self._place, "errors"), place
        if kind == "end":
            self._is_over = True
            self._ranges.clear()
            raise StopIteration
        self._position += 1
        if not had_errors and number_in(place, "errors"):
            self._begin(place)  # ranges asked for as if none had failed may not be those that follow
        if kind == "error":
            raise arrived(value)
        for consumer in self._dataset._consumers:
            value = consumer(value, self._epoch, self._position - 1)
        return value

    def _check(self):
        if self._is_cancelled:
            raise Error("the iteration was cancelled", "cancelled")
        if self._is_closed:
            raise Error("the iterator is closed: begin another one with iter(dataset)",
                        "failed_precondition")

    @property
    def position(self):
        """As Iterator.position."""
        return self._position

    def state_dict(self):
        """As Iterator.state_dict."""
        return {KEY: self._place}

    def load_state_dict(self, state):
        """As Iterator.load_state_dict."""
        self._check()
        place = checkpoint_of(state)
        epoch = epoch_of({"resume": place})
        # An actor says whether it can go on from there, in a run of its own.
        wanted = self._ask(place, epoch, number_in(place, "position"), 0, next(self._dataset._runs))
        kind, value, *_ = self._answer_of(wanted)[0]
        if kind == "failed":
            raise arrived(value)
        self._epoch = epoch
        self._begin(place)
        self._bad_rows.clear()
        self._dataset._count_behind(place)

    def read_ahead_until(self, position):
        """As Iterator.read_ahead_until."""
        self._until = position

    def cancel(self):
        """As Iterator.cancel, at the next call of next()."""
        self._is_cancelled = True

    @property
    def bad_rows(self):
        """As Iterator.bad_rows."""
        return sorted(self._bad_rows)

    @property
    def is_closed(self):
        """Whether close() was called."""
        return self._is_closed

    def close(self, seconds_max=float("inf")):  # pylint: disable=unused-argument
        """Asks for nothing more. The actors stay, for the dataset's next iteration."""
        live.discard(self)
        self._is_closed = True
        self._ranges.clear()
        self._made.clear()
        return True
