"""The `infeed` command, as the wheel installs it: `infeed`, or `python -m infeed`."""

import signal
import sys


def main():
    """Runs the command with the process's arguments, and ends the process."""
    from . import _core  # pylint: disable=import-outside-toplevel
    # Python catches Ctrl-C and ignores closed pipes; the command does as programs do.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(_core._run_command(["infeed", *sys.argv[1:]]))
