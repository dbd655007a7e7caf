"""A pipeline that runs in a process of its own (Dataset.in_process)."""

import itertools
import multiprocessing
import operator
import os
import pickle
import signal
import threading
from collections import deque

from ._dataset import Dataset
from ._errors import Error, invalid
from ._iterator import KEY, Resumable, checkpoint_of, epoch_of, live, number_in
from ._processes import Answers, Area, Inherited, arrived, portable, start

_FOR_NEXT = ("element", "end", "failed")
# Characters of a checkpoint that go in one message. Connection writes up to 16 KiB at once; a longer message would stop
# half way where Ctrl-C raises, and a signal handler's own would come in between.
_PART_CHARACTERS = 4000


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
        if options.get("order_hash"):
            raise invalid("in_process: iterate(order_hash=True) would count what was made ahead: hash what next() gives")
        return self._begun(ProcessIterator, options)

    def _with_consumers(self, consumers):
        return InProcessDataset(Dataset(self._core, consumers), self._ahead)

    def __repr__(self):
        return f"{super().__repr__()[:-1]} | in_process(ahead={self._ahead})>"

    def __reduce__(self):
        return (InProcessDataset, (Dataset(self._core, self._consumers), self._ahead))


class _Worker:
    """The process's side: gives elements while there are free areas, and does what it is told.

    An answer is (generation, kind, area, value, place behind it). Answers of an earlier generation, before a
    resume, count no more.
    """

    def __init__(self, iterator, connection, areas):
        self._iterator, self._connection, self._areas = iterator, connection, areas
        self._free = deque(range(len(areas)))
        self._generation = self._told = 0
        self._is_over = False
        self._until = None
        self._parts = {}  # of checkpoints, by the request

    def _answer(self, kind, area=None, value=None):
        self._connection.send((self._generation, kind, area, value, self._iterator.state_dict()[KEY]))

    def _rests(self):
        is_ahead = self._until is not None and self._iterator.position >= self._until
        return self._is_over or not self._free or is_ahead

    def run(self):
        self._answer("opened")
        while True:
            while self._rests() or self._connection.poll():
                self._obey(*self._connection.recv())
            self._give(self._free.popleft())

    def _obey(self, command, value):
        if command == "free":
            self._free.append(value)
        elif command == "statistics":
            self._answer("statistics", value=str(self._iterator.statistics()))
        elif command == "tuning":
            self._answer("tuning", value=str(self._iterator.tuning()))
        elif command == "read_ahead_until":
            self._until = value
            self._iterator.read_ahead_until(value)
        elif command == "forget_parts":
            self._parts.clear()
        elif command == "part":
            number, part = value
            self._parts.setdefault(number, []).append(part)
        else:
            number, checkpoint = value, "".join(self._parts.pop(value, []))
            try:
                self._iterator.load_state_dict({KEY: checkpoint})
            except Exception as error:  # pylint: disable=broad-exception-caught
                self._answer("refused", value=(number, portable(error)))
                return
            self._answer("resumed", value=(number, checkpoint))
            self._generation, self._is_over, self._told = self._generation + 1, False, 0

    def _give(self, area):
        try:
            content = self._areas[area].write(next(self._iterator))
            bad_rows = self._iterator._bad_rows_since(self._told)
            self._told += len(bad_rows)
            self._answer("element", area, (content, bad_rows))
        except StopIteration:
            self._is_over = True
            self._answer("end", area)
        except Exception as error:  # pylint: disable=broad-exception-caught
            self._is_over = getattr(error, "is_terminal", True)
            self._answer("failed", area, portable(error))


def _work(text, connection, areas, options):
    """The process's main function."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        iterator = pickle.loads(text).iterate(**options)
    except BaseException as error:  # pylint: disable=broad-exception-caught
        connection.send((0, "failed", None, portable(error), None))
        return
    try:
        _Worker(iterator, connection, areas).run()
    except (EOFError, OSError):
        return  # the parent has closed it, or is gone


class ProcessIterator(Resumable):
    """An Iterator whose pipeline runs in another process. It has the Iterator's methods but order_hash; of
    statistics() and tuning() it gives the text."""

    def __init__(self, dataset, options):
        self._process, self._dataset = None, dataset
        resume = options.get("resume")
        resume = None if resume is None else checkpoint_of(resume)
        options = {**options, "resume": resume}
        self._state = None  # until the process has begun
        self._position = 0 if resume is None else number_in(resume, "position")
        self._epoch = epoch_of(options)
        self._generation = 0
        self._requests = itertools.count(1)
        self._waiting = deque()  # answers that next() is still to give
        self._texts = {}  # the last answer to each command that is answered by a text
        self._outcomes = {}  # of the requests to resume, by number: None, or the Error
        self._is_resuming = False  # a signal handler may do so within another call
        self._until, self._is_cancelled = None, False
        self._bad_rows = set()
        self._calls = threading.RLock()  # a signal handler inside next() may call again
        self._process_id = os.getpid()
        self._areas = []
        self._start(options)
        if resume is not None:
            try:
                self.state_dict()  # comes with the state's acceptance: a pass that is refused isn't counted
            except BaseException:
                self.close()
                raise
        live.add(self)

    def _start(self, options):
        try:
            text = pickle.dumps(Dataset(self._dataset._core))
        except Exception as error:
            raise Error(f"in_process: the dataset can't be sent to a process: {error}; functions of its stages "
                        "must be importable", "invalid_argument") from error
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        try:
            for _ in range(self._dataset._ahead):
                self._areas.append(Area(os.memfd_create("infeed-batches")))
            process = context.Process(
                target=_work, daemon=True, name="infeed pipeline",
                args=(text, theirs, [Inherited(area.descriptor) for area in self._areas], options))
            start(process)
            self._answers = Answers(self._connection)
        except BaseException:
            self._connection.close()
            self._close_areas()
            raise
        finally:
            theirs.close()
        self._process = process

    def _close_areas(self):
        for area in self._areas:
            os.close(area.descriptor)
        self._areas = []

    def _ended(self):
        """Returns the Error of a process that is gone: what it said last, if anything."""
        if self._is_cancelled:
            return Error("the iteration was cancelled", "cancelled")
        if self._process is None:
            return Error("the iterator was closed by another thread", "cancelled")
        for kind, _, value, _ in self._waiting:
            if kind == "failed":
                return arrived(value)
        self._process.join(1)
        error = Error(f"the process of the pipeline ended (exit code {self._process.exitcode}); a script that uses "
                      "processes needs `if __name__ == '__main__':` around what it runs", "unavailable")
        error.is_terminal = True
        return error

    def _send(self, command, value):
        try:
            self._connection.send((command, value))
        except OSError:
            while True:  # what it said up to its end, which is an Error
                self._take()

    def _take(self):
        """Does what an answer is for: one for next() waits, one of before a resume is dropped. Who waits for an answer
        calls this until it is there. It returns without one after a moment, as a signal handler may have taken it."""
        try:
            answer = self._answers.get(0.1)
        except EOFError:
            raise self._ended() from None
        if answer is None:
            return
        generation, kind, area, value, state = answer
        if generation != self._generation:
            self._free(area)
        elif kind in _FOR_NEXT:
            self._waiting.append((kind, area, value, state))
        elif kind == "opened":
            self._state = state
        elif kind == "resumed":
            number, checkpoint = value
            self._resumed(checkpoint)
            self._outcomes[number] = None
        elif kind == "refused":
            number, error = value
            self._outcomes[number] = error
        else:
            self._texts[kind] = value

    def _resumed(self, checkpoint):
        """The process goes on from there, though who asked for it may have been interrupted."""
        for _, area, *_ in self._waiting:
            self._free(area)
        self._waiting.clear()
        self._generation += 1
        self._bad_rows.clear()
        self._state = checkpoint
        self._position, self._epoch = number_in(checkpoint, "position"), epoch_of({"resume": checkpoint})
        self._dataset._count_behind(checkpoint)

    def _free(self, area):
        try:
            if area is not None:
                self._connection.send(("free", area))
        except OSError:
            pass  # its process is gone, as the next answer says

    def __next__(self):
        with self._calls:
            element = self._next()
            epoch, position = self._epoch, self._position - 1
        for consumer in self._dataset._consumers:
            element = consumer(element, epoch, position)
        return element

    def _next(self):
        self._check()
        if self._is_cancelled:
            raise self._ended()
        if not self._waiting and self._until is not None and self._position >= self._until:
            self._send_until(self._position + 1)
        while not self._waiting:
            self._take()
        kind, area, value, state = self._waiting.popleft()
        is_last = kind == "end" or (kind == "failed" and getattr(value, "is_terminal", True))
        try:
            self._state = state or self._state
            if is_last:  # each later call says so again
                self._waiting.appendleft((kind, None, value, state))
            else:
                self._position += 1
            if kind == "end":
                raise StopIteration
            if kind == "failed":
                raise arrived(value)
            content, bad_rows = value
            self._bad_rows.update(bad_rows)
            return self._areas[area].read(content)
        finally:
            self._free(area)

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
        with self._calls:
            self._check()
            while self._state is None:
                self._take()
            return {KEY: self._state}

    def load_state_dict(self, state):
        """As Iterator.load_state_dict."""
        checkpoint = checkpoint_of(state)
        with self._calls:
            self._check()
            number, is_within_another = next(self._requests), self._is_resuming
            try:
                self._is_resuming = True
                if not is_within_another:  # nobody goes on with what is there: those calls were interrupted
                    self._outcomes.clear()
                    self._send("forget_parts", None)
                for begin in range(0, len(checkpoint), _PART_CHARACTERS):
                    self._send("part", (number, checkpoint[begin:begin + _PART_CHARACTERS]))
                self._send("resume", number)
                while number not in self._outcomes:  # those of interrupted calls may come before
                    self._take()
                error = self._outcomes.pop(number)
            finally:
                self._is_resuming = is_within_another
            if error is not None:
                raise arrived(error)

    def _ask(self, command):
        """Returns the text that answers a command."""
        with self._calls:
            self._check()
            self._texts.pop(command, None)
            self._send(command, None)
            while command not in self._texts:
                self._take()
            return self._texts[command]

    @property
    def bad_rows(self):
        """As Iterator.bad_rows."""
        return sorted(self._bad_rows)

    def statistics(self):
        """The table of Iterator.statistics(), as text."""
        return self._ask("statistics")

    def tuning(self):
        """What Iterator.tuning() prints, as text."""
        return self._ask("tuning")

    def read_ahead_until(self, position):
        """As Iterator.read_ahead_until."""
        if operator.index(position) < 0:
            raise invalid(f"read_ahead_until: {position} is no position")
        with self._calls:
            self._check()
            self._send_until(operator.index(position))

    def _send_until(self, position):
        self._until = position
        self._send("read_ahead_until", position)

    @property
    def is_closed(self):
        """Whether close() was called."""
        return self._process is None

    def cancel(self):
        """As Iterator.cancel. Ends the process."""
        self._is_cancelled = True
        process = self._process
        if process is not None and self._process_id == os.getpid():
            process.kill()

    def close(self, seconds_max=float("inf")):  # pylint: disable=unused-argument
        """Ends the process."""
        live.discard(self)
        process, self._process = self._process, None
        if process is None or self._process_id != os.getpid():
            return True
        process.kill()
        process.join()
        self._answers.end()  # a next() of another thread sees it, and lets go of the pipe
        with self._calls:
            self._connection.close()
            self._close_areas()
        return True

    def __del__(self):
        if self._process is not None:
            self.close()
