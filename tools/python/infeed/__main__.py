"""python -m infeed: the command."""

from ._command import main

main()
