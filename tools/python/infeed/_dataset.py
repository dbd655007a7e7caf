"""Dataset: a pipeline, described stage by stage with the words of the C++ library."""

import threading
import uuid
import weakref

from . import _core
from ._errors import invalid, require_whole
from ._functions import consumer_stage, map_batches_options
from ._held import Held
from ._iterator import Iterator, checkpoint_of, epoch_of
from ._place import Place, Traced
from ._schema import element_spec
from ._stages import KINDS, EachFile, each_of, json_text, make_source, make_stage_method

# Sources that need a Python object are functions of their own (sources.py).
_WITH_OBJECTS = ("map_batches", "from_numpy", "from_generator")


class _Objects:
    """Ids of Python objects in descriptions. An object has one id in a process."""

    def __init__(self):
        self._ids = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()

    def id_of(self, thing):
        name = getattr(thing, "__qualname__", type(thing).__name__)
        fresh = f"{name}-{uuid.uuid4().hex[:12]}"
        try:
            with self._lock:
                return self._ids.setdefault(thing, fresh)
        except TypeError:  # neither hashable nor weakly referenced: an id each time
            return fresh


_objects = _Objects()
_counting = threading.Lock()


def _adapter(module, function, doc):
    def method(self, *arguments, **options):
        import importlib

        adapters = importlib.import_module(f"infeed.{module}")
        return getattr(adapters, function)(self, *arguments, **options)

    method.__doc__ = doc
    return method


class Dataset:
    """An immutable description of a pipeline: where elements come from and what happens to them.

    Nothing runs until it is iterated. It can be iterated any number of times; the k-th iteration
    draws its shuffles from epoch k.

        batches = (infeed.records("train-*.tfrecord")
                   .shuffle(10_000, seed=42)
                   .parse({"image": ("uint8", (784,)), "label": "int64"})
                   .batch(128)
                   .prefetch())
        for batch in batches:
            step(batch["image"], batch["label"])

    Elements are Batches (mappings of names to columns) behind batch(), bytes for records and lines,
    ints, or dicts for samples of tar files and folders. element_kind says which.

    It pickles as its description, compares by it, and prints it.
    """

    __slots__ = ("_core", "_held", "_consumers", "_iterations", "__weakref__")

    def __init__(self, core, consumers=()):
        self._core = core
        self._held = core.held()  # which the engine doesn't keep
        self._consumers = tuple(consumers)
        self._iterations = 0

    # Describing.

    def _then(self, kind, options, inputs=(), objects=None):
        if self._consumers:
            raise invalid(f"{kind} stands behind map_batches(where='consumer'), which must be the "
                          "last stage: use where='thread', or put it before")
        for other in inputs:
            if not isinstance(other, Dataset):
                raise TypeError(f"{kind}: its inputs are Datasets, not {type(other).__name__}")
            if other._consumers:
                raise invalid(f"{kind}: an input ends with map_batches(where='consumer'), which "
                              "must be the last stage of all")
            if type(other) is not Dataset:
                raise invalid(f"{kind}: an input is {other!r}, whose elements come from other processes; that "
                              "must be the last stage of all")
        held = {key: Held(thing) for key, thing in (objects or {}).items()}
        return Dataset(self._core.then(kind, json_text(kind, options), [d._core for d in inputs], held))

    def map(self, *_, **__):
        """There is no map of single elements in Python: see map_batches."""
        raise invalid("a Python function for each element costs 5 to 12 us of it, and holds the "
                      "interpreter's lock meanwhile: 100,000 elements a second at most, on any "
                      "number of threads. Use map_batches(fn): fn gets a whole batch and works on "
                      "its arrays")

    def map_batches(self, fn, where="consumer", workers=1, *, seed=None, version=None, name=None):
        """Calls fn(batch, rng), or fn(batch), with each whole batch.

        fn: returns the new batch: a mapping of names to arrays. With where="consumer" it may
            return anything, and the stage must be the last one.
        where: "consumer": inside next(). No waiting for the interpreter's lock, and no overlap
               with the training step.
            "thread": in `workers` background threads. It overlaps with work that lets go of the
               interpreter's lock (kernels, reading); a thread may wait 5 ms for the lock while
               others run Python code.
            "process": in `workers` processes, for heavy Python code. Batches go through shared
               memory that no process outlives. fn must pickle (cloudpickle is used if installed).
        seed: keys rng, which depends on the batch's position only: results are the same with any
            number of workers and after a resume. Without it a random one is drawn; by the consumer, and
            for a function without rng, it is 0.
        version: changed when fn changes, so that older checkpoints are refused; not with the consumer.
        name: its name in statistics and errors; not with the consumer.
        """
        if where == "consumer":
            if version is not None:
                raise invalid("map_batches: where='consumer' is no part of the place, so it takes no version")
            if name is not None:
                raise invalid("map_batches: where='consumer' is no stage of statistics() or errors, so it takes no "
                              "name")
            return self._with_consumers([*self._consumers, consumer_stage(fn, workers, seed)])
        options, function = map_batches_options(fn, where, workers, seed, version, name)
        key = _objects.id_of(function)
        return self._then("map_batches", {"function": {"object": key}, **options},
                          objects={key: function})

    def _with_consumers(self, consumers):
        return Dataset(self._core, consumers)

    # Asking.

    @property
    def element_kind(self):
        """"batch", "record", "integer", "text", "sample", "labeled_file", "row", "unparsed_row"."""
        return self._core.kind()

    @property
    def element_spec(self):
        """{name: ColumnSpec} of batches and rows; None where it isn't known before the run."""
        return None if self._consumers else element_spec(self._core.columns())

    @property
    def cardinality(self):
        """The number of elements if none fails; math.inf; None if it isn't known."""
        return self._core.cardinality()

    def __len__(self):
        count = self.cardinality
        if not isinstance(count, int):
            raise TypeError("the number of elements is "
                            + ("infinite" if count else "unknown before they are read")
                            + "; a DataLoader, which asks for it, takes dataset.torch()")
        return count

    def __getitem__(self, index):
        raise TypeError("a Dataset is a stream, whose elements have no index: loop over it, or trace one by "
                        "at(step); a DataLoader takes dataset.torch(), with batch_size=None")

    def __length_hint__(self):
        count = self.cardinality
        return count if isinstance(count, int) else NotImplemented

    def __bool__(self):
        return True

    @property
    def fingerprint(self):
        """A number of all that decides on values and order. Reads the sources' files once."""
        return self._core.fingerprint()

    def to_json(self):
        """The description as text (pipeline/describe/README.md); from_json() reads it."""
        if self._consumers:
            raise invalid("map_batches can't be written as JSON: it is a Python function; pickle "
                          "the dataset")
        return self._core.to_json()

    # Iterating.

    def iterate(self, **options):
        """Starts an iteration.

        resume: what state_dict() or get_state() of an iterator returned, to go on from there.
        memory_bytes_max: limit of all that the iteration holds.
        threads_max: limit of the threads that it starts.
        epoch: the number of this iteration, which keys shuffles; by default they are counted.
        watchdog: seconds without progress after which next() raises deadline_exceeded, at least 0.001; 0: none.
        recording: a file for `infeed profile`.
        tune: False keeps the fixed choices of everything that is "autotune".
        tuning_profile: iterator.tuning().profile of an earlier run.
        order_hash: keep a hash of all elements in order.
        """
        return self._begun(Iterator, options)

    def at(self, step, resume=None, epoch=None):
        """Returns the element that a run has given at a step (its position, from 0), and where each of
        its rows came from: the batch in which a loss rose.

        resume: the run's last state before the step, as state_dict() returned it: it has the run's
            seeds and pass, and only the steps behind it are made again. Without it all elements
            before the step are looked at, and every stage that draws must have a seed.
        epoch: without resume, the number of the pass; 0 by default.

            found = dataset.at(8_412, resume=state)
            clean = infeed.records("train-*.tfrecord").leave_out([found.rows[17]])
        """
        require_whole("at: step", step, 0)
        options = {"resume": None if resume is None else checkpoint_of(resume), "epoch": epoch}
        element, rows = self._core.at(step, options)
        for consumer in self._consumers:
            element = consumer(element, epoch_of({**options, "epoch": epoch or 0}), step)
        return Traced(element, [Place(*row) for row in rows])

    def _begun(self, kind, options):
        """Returns an iterator of that kind. Its number, which keys shuffles, is counted unless the options say it;
        where it can't begin, the next one gets the number."""
        is_counted = options.get("resume") is None and options.get("epoch") is None
        if is_counted:
            with _counting:
                options["epoch"] = self._iterations
                self._iterations += 1
        try:
            iterator = kind(self, options)
        except BaseException:
            with _counting:
                if is_counted and self._iterations == options["epoch"] + 1:
                    self._iterations -= 1
            raise
        if options.get("resume") is not None:
            self._count_behind(checkpoint_of(options["resume"]))
        return iterator

    def _count_behind(self, checkpoint):
        """Lets the iterations behind a resumed one go on counting from its number."""
        with _counting:
            self._iterations = max(self._iterations, epoch_of({"resume": checkpoint}) + 1)

    def in_process(self, ahead=4):
        """Iterates in a process of its own, for training loops that hold the interpreter's lock.

        Up to `ahead` batches wait in shared memory. Each costs a copy: about 0.1 ms a megabyte and
        0.1 ms for the hand-over. It must be the last stage but for map_batches' consumer.
        """
        from ._in_process import InProcessDataset

        require_whole("in_process: ahead", ahead, 1)
        return InProcessDataset(self, ahead)

    def __iter__(self):
        return self.iterate()

    def numpy(self, **options):
        """An iterable of dicts of NumPy arrays."""
        from . import arrays

        return arrays.numpy(self, **options)

    torch = _adapter("torch", "iterable", "An iterable of dicts of PyTorch tensors.")
    jax = _adapter("jax", "iterable", "An iterable of dicts of JAX arrays.")
    tf = _adapter("tf", "iterable", "An iterable of dicts of TensorFlow tensors.")
    keras = _adapter("keras", "adapter", "What keras.Model.fit takes.")
    arrow = _adapter("arrow", "reader", "A reader of Arrow record batches.")

    # Being a value.

    def __eq__(self, other):
        if not isinstance(other, Dataset):
            return NotImplemented
        return self._core.equals(other._core) and self._consumers == other._consumers

    def __hash__(self):
        return hash(self._core.to_json(True))

    def __repr__(self):
        text = self._core.text()
        for consumer in self._consumers:
            text += f" | map_batches({consumer.name}, where='consumer')"
        return f"<infeed.Dataset {text}>"

    def __reduce__(self):
        return (_unpickled, (self._core.to_json(True), self._objects(), self._consumers))

    def _objects(self):
        """The objects of the stages by their ids."""
        return {key: held.thing for key, held in self._held.items()}


def _begin():
    return Dataset(_core.empty())


def _unpickled(text, objects, consumers):
    held = {key: Held(thing) for key, thing in objects.items()}
    return Dataset(_core.from_json(text, held), consumers)


def join(stage, *given):
    """Returns the first dataset with the stage of that name, which takes the others."""
    first, *others = each_of(given) or [None]
    if not isinstance(first, Dataset):
        raise TypeError(f"{stage}: its inputs are Datasets, not {type(first).__name__}")
    return getattr(first, stage)(*others)


def reshard(state, dataset):
    """Returns the state at which one of another number of hosts goes on from the place that `state`
    is, so that all of them together take each element once.

    state: what state_dict() returned on any of the old hosts, if all had taken as many steps.
    dataset: that of the new host, which has its own shard(count, index), and may have another batch
        size behind it. Any stage may stand before shard; behind it those whose elements tell by
        their number which of the shared ones they are made of: map_batches, parse, batch,
        padded_batch, prefetch, a repeat. An Error names a stage for which that isn't so.

            new = share(hosts=3, host=2)     # host 0 of 4 saved `state`
            batches = new.iterate(resume=infeed.reshard(state, new))
    """
    return {"infeed": dataset._core.resharded(checkpoint_of(state))}


def from_json(text):
    """Reads a description that to_json() wrote, or a person (pipeline/describe/README.md)."""
    return Dataset(_core.from_json(text, {}))


def from_numpy(arrays, *, name=None):
    """Gives the rows of arrays in memory: a mapping of names to arrays with as many rows.

    Nothing is copied: the arrays must not change while the dataset lives. Put batch() behind it.
    """
    key = _objects.id_of(arrays)
    options = {"arrays": {"object": key}, "name": name}
    return _begin()._then("from_numpy", options, (), {key: arrays})


def from_generator(make, *, name=None):
    """Gives the batches of a Python generator: make() returns an iterable of mappings of names to
    arrays. It is called once a pass.

    A resume calls it again and passes over the batches that were taken, so it must give the same
    ones each time.
    """
    if not callable(make):
        raise invalid("from_generator: give the function that returns the generator, not the "
                      "generator itself, which could be read only once")
    key = _objects.id_of(make)
    options = {"make": {"object": key}, "name": name}
    return _begin()._then("from_generator", options, (), {key: make})


SOURCES = {}
for _kind in KINDS.values():
    if _kind["name"] in _WITH_OBJECTS:
        continue
    if _kind["role"] in ("source", "gathers"):
        SOURCES[_kind["name"]] = make_source(_kind, _begin)
    else:
        setattr(Dataset, _kind["name"], make_stage_method(_kind))
        setattr(EachFile, _kind["name"], make_stage_method(_kind))


def range(start, stop=None, step=1, *, name=None):  # noqa: A001: the name in C++ and tf.data
    """Gives the integers from start up to but not including stop: range(stop) or range(start, stop)."""
    if stop is None:
        start, stop = 0, start
    return _begin()._then("range", {"stop": stop, "start": start, "step": step, "name": name})


SOURCES["range"] = range
