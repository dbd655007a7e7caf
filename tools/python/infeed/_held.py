"""Python objects that stages use: functions, and arrays in memory."""


class Held:
    """Keeps an object for the Datasets that use it. The engine refers to it weakly, so the garbage collector sees all
    who keep the object: one whose method is a stage of a Dataset that it keeps itself is freed."""

    __slots__ = ("thing", "_passes", "__weakref__")

    def __init__(self, thing):
        self.thing = thing
        self._passes = set()

    def begin(self):
        """Calls the object, and returns the Pass over what that returns, which is kept until end()."""
        begun = Pass(iter(self.thing()))
        self._passes.add(begun)
        return begun

    def end(self, begun):
        """Lets go of a Pass."""
        self._passes.discard(begun)


class Pass:
    """An iterator of Python that a source reads."""

    __slots__ = ("iterator", "__weakref__")

    def __init__(self, iterator):
        self.iterator = iterator
