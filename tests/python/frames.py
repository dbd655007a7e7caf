"""Where the main thread is, for tests that do something while it waits."""

import signal
import sys
import threading


def is_inside(name, frame):
    """Whether this frame, or one that called it, is of a function of that name."""
    while frame is not None and frame.f_code.co_name != name:
        frame = frame.f_back
    return frame is not None


def wait_until_main_is_inside(name):
    main = threading.main_thread().ident
    while not is_inside(name, sys._current_frames()[main]):  # pylint: disable=protected-access
        pass  # the interpreter gives each thread its turn


class Alarm:
    """Calls functions in a signal handler: 0.1 s from now, or later, once this thread is inside a method."""

    def __init__(self, *functions, method="__next__"):
        self._functions, self._method = functions, method
        self._before = signal.signal(signal.SIGALRM, self._ring)

    def _ring(self, _, frame):
        if not is_inside(self._method, frame):
            self._set()
            return
        for function in self._functions:
            function()

    @staticmethod
    def _set():
        signal.setitimer(signal.ITIMER_REAL, 0.1)

    def __enter__(self):
        self._set()

    def __exit__(self, *_):
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._before)
