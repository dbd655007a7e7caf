"""A pipeline that runs in a process of its own (Dataset.in_process)."""

import multiprocessing
import os
import pickle
import signal
from collections import deque

from ._dataset import Dataset
from ._errors import Error, invalid
from ._iterator import checkpoint_of, epoch_of, live
from ._processes import Area, Inherited, portable

_KEY = "infeed"


class InProcessDataset(Dataset):
    """A dataset whose iterators run in processes of their own. It must be the last stage."""

    __slots__ = ("_ahead",)

    def __init__(self, dataset, ahead):
        super().__init__(dataset._core, dataset._consumers)
        self._ahead = ahead

    def _then(self, kind, options, inputs=(), objects=None):
        raise invalid(f"{kind} stands behind in_process(), which must be the last stage")

    def iterate(self, **options):
        """As Dataset.iterate."""
        self._number(options)
        return ProcessIterator(self, options)

    def __repr__(self):
        return f"{super().__repr__()[:-1]} | in_process(ahead={self._ahead})>"

    def __reduce__(self):
        return (InProcessDataset, (Dataset(self._core, self._consumers), self._ahead))


def _work(text, connection, areas, options):
    """The process's loop: gives elements while there are free areas, and does what it is told."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        iterator = pickle.loads(text).iterate(**options)
        connection.send((0, "opened", None, None, iterator.state_dict()[_KEY]))
    except BaseException as error:  # pylint: disable=broad-exception-caught
        connection.send((0, "failed", None, portable(error), None))
        return
    free, generation, is_over, told = deque(range(len(areas))), 0, False, 0
    while True:
        try:
            while is_over or not free or connection.poll():
                command, value = connection.recv()
                if command == "free":
                    free.append(value)
                elif command == "statistics":
                    connection.send((generation, "statistics", None, str(iterator.statistics()), None))
                else:
                    generation, is_over, told = generation + 1, False, 0
                    iterator.load_state_dict({_KEY: value})
        except EOFError:
            return
        area = free.popleft()
        try:
            content = areas[area].write(next(iterator))
            bad_rows = iterator._bad_rows_since(told)
            told += len(bad_rows)
            answer = ("element", area, (content, bad_rows))
        except StopIteration:
            is_over, answer = True, ("end", area, None)
        except BaseException as error:  # pylint: disable=broad-exception-caught
            is_over = getattr(error, "is_terminal", True)
            answer = ("failed", area, portable(error))
        connection.send((generation, *answer, iterator.state_dict()[_KEY]))


class ProcessIterator:
    """An Iterator whose pipeline runs in another process; it has the Iterator's methods."""

    def __init__(self, dataset, options):
        self._process = None
        self._dataset = dataset
        options = dict(options)
        self._state = options.get("resume") and checkpoint_of(options["resume"])
        self._position = 0 if self._state is None else _position_of(self._state)
        self._epoch = epoch_of({**options, "resume": self._state})
        if self._state is not None:
            options["resume"] = self._state
        self._options = options
        self._generation = 0
        self._bad_rows = set()
        self._areas = [Area(os.memfd_create("infeed-batches")) for _ in range(dataset._ahead)]
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(
            target=_work, daemon=True, name="infeed pipeline",
            args=(pickle.dumps(Dataset(dataset._core)), theirs,
                  [Inherited(area.descriptor) for area in self._areas], options))
        self._process.start()
        self._process_id = os.getpid()
        theirs.close()
        live.add(self)

    def __iter__(self):
        return self

    def _receive(self, wanted=None):
        """Returns the next answer of this generation, or the one of the wanted kind."""
        while True:
            try:
                answer = self._connection.recv()
            except (EOFError, OSError):
                self._process.join(1)
                raise Error(f"the process of the pipeline ended (exit code {self._process.exitcode}); a "
                            "script that uses processes needs `if __name__ == '__main__':` around what "
                            "it runs", "unavailable") from None
            generation, kind, area = answer[:3]
            if kind == "opened":
                self._state = self._state or answer[-1]
                if wanted == kind:
                    return answer[1:]
                continue
            if generation == self._generation and wanted in (None, kind):
                return answer[1:]
            if wanted is not None and generation == self._generation:
                self._waiting.append(answer[1:])
            elif area is not None:
                self._connection.send(("free", area))

    _waiting = ()

    def __next__(self):
        self._check()
        if self._waiting:
            kind, area, value, state = self._waiting.popleft()
        else:
            kind, area, value, state = self._receive()
        try:
            self._state = state or self._state
            if kind == "end":
                self._waiting = deque([("end", None, None, state)])
                raise StopIteration
            self._position += 1
            if kind == "failed":
                raise value
            content, bad_rows = value
            self._bad_rows.update(bad_rows)
            element = self._areas[area].read(content, copied=True)
        finally:
            if area is not None:
                self._connection.send(("free", area))
        for consumer in self._dataset._consumers:
            element = consumer(element, self._epoch, self._position - 1)
        return element

    def _check(self):
        if self._process is None:
            raise Error("the iterator is closed: begin another one with iter(dataset)",
                        "failed_precondition")
        if self._process_id != os.getpid():
            raise Error("the iterator belongs to the process that made it, and this one is a fork of "
                        "it: iterate anew here", "failed_precondition")

    @property
    def position(self):
        """As Iterator.position."""
        return self._position

    def state_dict(self):
        """As Iterator.state_dict."""
        self._check()
        if self._state is None:
            self._receive("opened")
        return {_KEY: self._state}

    def load_state_dict(self, state):
        """As Iterator.load_state_dict."""
        self._check()
        self._state = checkpoint_of(state)
        self._position, self._epoch = _position_of(self._state), epoch_of({"resume": self._state})
        for answer in self._waiting:
            if answer[1] is not None:
                self._connection.send(("free", answer[1]))
        self._waiting = ()
        self._bad_rows.clear()
        self._generation += 1
        self._connection.send(("resume", self._state))
        self._dataset._number({"resume": self._state})

    get_state = state_dict
    set_state = load_state_dict

    @property
    def element_spec(self):
        """As Dataset.element_spec."""
        return self._dataset.element_spec

    @property
    def bad_rows(self):
        """As Iterator.bad_rows."""
        return sorted(self._bad_rows)

    def statistics(self):
        """The table of Iterator.statistics(), as text."""
        self._check()
        self._waiting = deque(self._waiting)
        self._connection.send(("statistics", None))
        return self._receive("statistics")[2]

    def __len__(self):
        return len(self._dataset)

    @property
    def is_closed(self):
        """Whether close() was called."""
        return self._process is None

    def close(self, seconds_max=float("inf")):  # pylint: disable=unused-argument
        """Ends the process."""
        live.discard(self)
        process, self._process = self._process, None
        if process is None or self._process_id != os.getpid():
            return True
        self._connection.close()
        process.kill()
        process.join()
        for area in self._areas:
            os.close(area.descriptor)
        return True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if self._process is not None:
            self.close()


def _position_of(checkpoint):
    lines = checkpoint.splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith("position ")), 0)

