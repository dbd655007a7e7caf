"""Where the main thread is, for tests that do something while it waits."""

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
