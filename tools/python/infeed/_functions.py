"""Functions of whole batches (Dataset.map_batches)."""

import inspect
import numbers

import numpy as np

from . import _core
from ._errors import invalid, require_whole


def takes_rng(fn):
    """Whether the function has room for a second positional argument."""
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        return False
    positional = [p for p in parameters
                  if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if any(p.kind == p.VAR_POSITIONAL for p in parameters):
        return True
    required = [p for p in positional if p.default is p.empty]
    return len(required) >= 2 or (len(positional) >= 2 and positional[1].name == "rng")


def generator(high, low):
    """Returns the numpy.random.Generator of a key of 128 bits."""
    return np.random.Generator(np.random.Philox(key=high << 64 | low))


class BatchFunction:
    """Calls a function with a batch and, if it takes one, a generator of the given key."""

    def __init__(self, fn):
        if not callable(fn):
            raise invalid(f"map_batches: {fn!r} is no function of a batch")
        self.fn = fn
        self.wants_rng = takes_rng(fn)
        self.__qualname__ = getattr(fn, "__qualname__", type(fn).__name__)

    def __call__(self, batch, high, low):
        return self.fn(batch, generator(high, low)) if self.wants_rng else self.fn(batch)

    def __eq__(self, other):
        return type(other) is type(self) and self.__dict__ == other.__dict__

    def __hash__(self):
        return hash((type(self).__name__, self.__qualname__))


class ConsumerStage:
    """A function that the consumer calls inside next()."""

    def __init__(self, function, seed):
        self.function = function
        self.seed = seed

    @property
    def name(self):
        return self.function.__qualname__

    def __eq__(self, other):
        return (isinstance(other, ConsumerStage) and self.function == other.function
                and self.seed == other.seed)

    def __hash__(self):
        return hash((self.function, self.seed))

    def __call__(self, element, epoch, position):
        try:
            return self.function(element, *_core.random_key(self.seed, epoch, position))
        except StopIteration as error:  # would end the loop without a word
            raise RuntimeError(f"map_batches: {self.name} raised StopIteration") from error


def consumer_stage(fn, workers, seed):
    if workers != 1:
        raise invalid("map_batches: where='consumer' has one worker, the consumer; for more use "
                      "where='thread' or 'process'")
    if seed is not None and not (isinstance(seed, numbers.Integral) and 0 <= seed < 2**64):
        raise invalid(f"map_batches: seed is {seed!r}; it must be a whole number of 0 or more")
    return ConsumerStage(BatchFunction(fn), 0 if seed is None else seed)


def map_batches_options(fn, where, workers, seed, version, name):
    """Returns the stage's options, and the function that it calls."""
    if where not in ("thread", "process"):
        raise invalid(f"map_batches: where is {where!r}; there are 'consumer', 'thread' and "
                      "'process'")
    require_whole("map_batches: workers", workers, 1)
    function = BatchFunction(fn)
    if not function.wants_rng and seed is None:
        seed = 0  # nothing is drawn, and a random one would tell processes apart (caches, agree(), at())
    # Functions can't be compared, but their names can.
    shown = function.__qualname__ if version is None else f"{function.__qualname__} {version}"
    if where == "process":
        from ._processes import ProcessFunction

        function = ProcessFunction(fn, workers)
    return {"workers": workers, "seed": seed, "name": name, "version": shown}, function
