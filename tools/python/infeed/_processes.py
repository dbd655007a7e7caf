"""Functions of whole batches in processes of their own (Dataset.map_batches(where="process")).

A batch goes to a process, and its result comes back, through two areas of shared memory (memfd):
they have no name, so nothing of them stays behind, however a process ends. A pipe carries the rest.
"""

import atexit
import contextlib
import mmap
import multiprocessing
import multiprocessing.reduction
import os
import pickle
import queue
import signal
import socket
import threading
import traceback
import weakref

from . import _core
from ._adapted import as_batch
from ._errors import Error
from ._functions import BatchFunction

_ALIGNMENT = 64
_pools = weakref.WeakSet()
_starting = threading.Lock()


class Area:
    """Shared memory that grows with what is written."""

    def __init__(self, descriptor):
        self.descriptor = descriptor
        self._map = None

    def _mapped(self, size):
        if self._map is None or len(self._map) < size:
            if os.fstat(self.descriptor).st_size < size:
                os.ftruncate(self.descriptor, size)
            # The old mapping goes with the last array that shows it.
            self._map = mmap.mmap(self.descriptor, os.fstat(self.descriptor).st_size)
        return memoryview(self._map)

    def write(self, value):
        """Returns the message that stands for the value: the arrays of a Batch lie in the area."""
        is_batch = isinstance(value, _core.Batch)
        if is_batch:
            _, value = value.__reduce_ex__(5)  # its parts, which read() copies into a Batch that may be written
        buffers = []
        text = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
        places, end = [], 0
        for buffer in buffers:
            size = buffer.raw().nbytes
            places.append((end, size))
            end += -(-size // _ALIGNMENT) * _ALIGNMENT
        if end:
            memory = self._mapped(end)
            for buffer, (place, size) in zip(buffers, places):
                memory[place:place + size] = buffer.raw()
        return is_batch, text, places, end

    def read(self, message):
        """Returns the value, which shares nothing with the area."""
        is_batch, text, places, end = message
        memory = self._mapped(end) if end else memoryview(b"")
        value = pickle.loads(text, buffers=[memory[place:place + size] for place, size in places])
        return _core._batch_of_parts(*value, copied=True) if is_batch else value


def _serialised(fn):
    try:
        import cloudpickle
    except ImportError:
        cloudpickle = pickle
    try:
        return cloudpickle.dumps(fn)
    except Exception as error:
        hint = "" if cloudpickle is not pickle else "; with cloudpickle installed it may"
        raise Error(f"map_batches: the function can't be sent to a process{hint}: {error}",
                    "invalid_argument") from error


class Inherited:
    """A descriptor that the process gets when it starts."""

    def __init__(self, descriptor):
        self.descriptor = descriptor

    def __reduce__(self):
        return (_area_of, (multiprocessing.reduction.DupFd(self.descriptor),))


def _area_of(duplicate):
    return Area(duplicate.detach())


def _work(function, connection, requests, replies):
    """A process's loop: until its parent goes, however that ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    call = None
    while True:
        try:
            message, high, low = connection.recv()
        except EOFError:
            return
        try:
            call = call or BatchFunction(pickle.loads(function))
            # The function may keep the batch, whose area the next one overwrites: so it is a copy.
            answer = ("result", replies.write(as_batch(call(requests.read(message), high, low))))
        except BaseException as error:  # pylint: disable=broad-exception-caught
            answer = ("error", portable(error), traceback.format_exc())
        try:
            connection.send(answer)
        except OSError:
            return


def portable(error):
    """Returns the exception, or one that pickles in its place. The text of its cause goes with it."""
    cause = error.__cause__
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # pylint: disable=broad-exception-caught
        error = RuntimeError(f"{type(error).__name__}: {error}")
    if cause is not None:
        error.__dict__["_cause_text"] = "".join(traceback.format_exception(cause))
    return error


def arrived(error):
    """Gives an exception that portable() returned in another process its cause again."""
    text = error.__dict__.pop("_cause_text", None)
    if text is not None:
        error.__cause__ = RuntimeError(f"in the other process:\n{text}")
    return error


def start(process):
    """Starts a process also where this one is a daemon, such as a pipeline's process or a DataLoader's worker.
    Python refuses that, since daemons are killed without a word to their children; ours end with their pipes."""
    config = multiprocessing.current_process()._config
    with _starting:
        is_daemon = config.pop("daemon", None)
        try:
            process.start()
        finally:
            if is_daemon is not None:
                config["daemon"] = is_daemon


class Answers:
    """Answers of a process, in order. A thread of its own takes them from the pipe: a signal handler runs in the main
    thread, where it would find a message half taken, and its rest would be lost if it raises."""

    def __init__(self, connection):
        self._connection = connection
        self._arrived = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._listen, name="infeed answers", daemon=True)
        self._thread.start()

    def _listen(self):
        message = None
        while message != b"":
            try:
                message = self._connection.recv_bytes()
            except (EOFError, OSError):
                message = b""
            self._arrived.put(message)

    def get(self, seconds_max):
        """Returns the next answer; None if none comes in that time. Raises EOFError at the end, each time."""
        try:
            message = self._arrived.get(timeout=seconds_max)
        except queue.Empty:
            return None
        if message == b"":
            self._arrived.put(message)
            raise EOFError
        return pickle.loads(message)

    def end(self):
        """Ends the thread, also where a fork of this process holds the other end of the pipe."""
        with socket.socket(fileno=os.dup(self._connection.fileno())) as pipe:
            pipe.shutdown(socket.SHUT_RDWR)
        if self._thread is not threading.current_thread():  # which may collect garbage
            self._thread.join()


class _Worker:
    """One process and its shared memory."""

    def __init__(self, function):
        context = multiprocessing.get_context("spawn")
        with contextlib.ExitStack() as undone:  # where the process can't be started
            descriptors = []
            for name in ("requests", "replies"):
                descriptors.append(os.memfd_create(f"infeed-{name}"))
                undone.callback(os.close, descriptors[-1])
            self._connection, theirs = context.Pipe()
            undone.enter_context(self._connection)
            with theirs:
                self._process = context.Process(
                    target=_work, daemon=True, name="infeed map_batches",
                    args=(function, theirs, *map(Inherited, descriptors)))
                start(self._process)
            undone.pop_all()
        self._requests, self._replies = map(Area, descriptors)
        self._is_asked = False

    def call(self, batch, high, low):
        self._is_asked = True
        try:
            self._connection.send((self._requests.write(batch), high, low))
            answer = self._connection.recv()
            self._is_asked = False
        except (EOFError, OSError):
            self._process.join(1)
            raise Error(f"the process of map_batches ended (exit code {self._process.exitcode}); "
                        "a script that uses processes needs `if __name__ == '__main__':` around "
                        "what it runs", "unavailable") from None
        if answer[0] == "error":
            error, text = answer[1:]
            error.__cause__ = RuntimeError(f"in the process of map_batches:\n{text}")
            raise error
        return self._replies.read(answer[1])

    def is_usable(self):
        """False also where a signal handler raised inside call(): the answer that still comes is to another batch."""
        return not self._is_asked and self._process.is_alive()

    def close(self):
        self._connection.close()
        self._process.join(1)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        for area in (self._requests, self._replies):
            os.close(area.descriptor)


class ProcessFunction:
    """Calls a function in one of several processes, which live as long as it. Threads may call it
    at once. It pickles without its processes."""

    def __init__(self, fn, workers):
        self.fn = fn
        self.workers = workers
        self.__qualname__ = getattr(fn, "__qualname__", type(fn).__name__)
        self._function = _serialised(fn)
        self._start()

    def _start(self):
        self._idle = queue.LifoQueue()
        for _ in range(self.workers):
            self._idle.put(None)  # started at its first call
        self._process_id = os.getpid()
        self._lock = threading.Lock()
        self._all = set()
        self._is_closed = False
        _pools.add(self)

    def __call__(self, batch, high, low):
        if self._is_closed:
            raise Error("the processes of map_batches have ended, since Python ends", "cancelled")
        if self._process_id != os.getpid():
            self._start()  # in a fork
        worker = self._idle.get()
        try:
            if worker is None or not worker.is_usable():
                dead, worker = worker, None
                self._drop(dead)
                worker = _Worker(self._function)
                with self._lock:
                    self._all.add(worker)
            return worker.call(batch, high, low)
        finally:
            self._idle.put(worker)

    def _drop(self, worker):
        if worker is not None:
            with self._lock:
                self._all.discard(worker)
            worker.close()

    def close(self):
        self._is_closed = True
        with self._lock:
            workers, self._all = self._all, set()
        if self._process_id == os.getpid():
            for worker in workers:
                worker.close()

    def __del__(self):
        if "_all" in self.__dict__:
            self.close()

    def __eq__(self, other):
        return isinstance(other, ProcessFunction) and self.fn == other.fn

    def __hash__(self):
        return hash(("ProcessFunction", self.__qualname__))

    def __reduce__(self):
        return (_restored, (self._function, self.workers))


def _restored(function, workers):
    return ProcessFunction(pickle.loads(function), workers)


def _close_pools():
    for pool in list(_pools):
        pool.close()


# Before the iterators are closed, whose threads wait for these processes: handlers run last first.
atexit.register(_close_pools)
