"""The place of this process among those of a job, and what they agree on before they begin.

    world = infeed.detect_world()
    batches = dataset.shuffle(10_000, seed=42).shard(world).parse(columns).batch(1024 // world.size)
    infeed.agree(batches, world, seed=42)

Nothing is exchanged for order, shuffling or resume: each host takes its rows of the same order.
"""

import dataclasses
import functools
import inspect
import json
import numbers
import os
import sys

from . import _core
from ._dataset import Dataset, _unpickled
from ._errors import Error, invalid, require_whole
from ._place import BadRow

_SHOWN_MAX = 60


@dataclasses.dataclass(frozen=True)
class World:
    """The place of a process among those that read apart: rank, from 0, of size.

    Under tensor or pipeline parallelism several processes read the same rows: then it is the rank
    among the data-parallel groups, not the launcher's. source says what named it, if
    detect_world() did.
    """

    rank: int = 0
    size: int = 1
    source: str = dataclasses.field(default="", compare=False)

    def __post_init__(self):
        for name in ("rank", "size"):
            value = getattr(self, name)
            if not isinstance(value, numbers.Integral) or isinstance(value, bool):
                raise TypeError(f"World: rank and size are whole numbers, not {value!r}")
            object.__setattr__(self, name, int(value))  # NumPy's have no JSON
        if not 0 <= self.rank < self.size:
            raise invalid(f"World: rank {self.rank} of {self.size} can't be: ranks are counted from 0, "
                          "and there is at least one")

    def __str__(self):
        text = f"rank {self.rank} of {self.size}"
        return f"{text}, by {self.source}" if self.source else text


def _torch_distributed():
    """Returns torch.distributed if the program has initialised it. It isn't imported for that."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return distributed


def _jax():
    """Returns JAX if the program has initialised its distributed form, which asking would begin."""
    jax = sys.modules.get("jax")
    is_initialized = getattr(getattr(jax, "distributed", None), "is_initialized", None)
    return jax if is_initialized is not None and is_initialized() else None


def detect_world(size=None):
    """Returns the World that the job's launcher or framework says; its `source` says which.

    Asked are torch.distributed and jax.distributed, if the program has initialised them, and then
    the variables of torchrun, Open MPI, MPICH, PMIx, Slurm (inside a step) and Indexed Jobs of
    Kubernetes. Without any it is rank 0 of 1, by "no launcher".

    size: the number of processes, for a launcher that says only the rank (an Indexed Job).

    Raises Error "invalid_argument" if two of them disagree, or a variable is there without the one
    it belongs to: a process that guesses wrong reads the same rows as another.
    """
    if size is not None:
        require_whole("detect_world: size", size, 1)
    found = []
    distributed, jax = _torch_distributed(), _jax()
    if distributed is not None:
        found.append(World(distributed.get_rank(), distributed.get_world_size(), "torch.distributed"))
    if jax is not None:
        found.append(World(jax.process_index(), jax.process_count(), "jax.distributed"))
    if found:
        if "RANK" in os.environ and "WORLD_SIZE" in os.environ:  # torchrun's, which both read, too
            found.append(World(*_core.detect_world(0)))
    else:
        found.append(World(*_core.detect_world(size or 0)))
    for other in found[1:]:
        if other != found[0]:
            raise invalid(f"detect_world: {found[0].source} says rank {found[0].rank} of "
                          f"{found[0].size}, and {other.source} rank {other.rank} of {other.size}; "
                          "give infeed.World(rank, size) yourself")
    return found[0]


def _takes_world(shard):
    """Lets Dataset.shard take a World in place of count and index."""
    declared = shard.__signature__.parameters
    parameters = [declared["count"].replace(annotation="int | World") if name == "count" else
                  declared["index"].replace(default=None, annotation="int | None") if name == "index"
                  else parameter for name, parameter in declared.items()]

    @functools.wraps(shard)
    def method(self, count, index=None, **options):
        if isinstance(count, World):
            if index is not None:
                raise TypeError("shard: a World has both count and index; leave index out")
            count, index = count.size, count.rank
        if index is None:
            raise TypeError("shard: give count and index, or an infeed.World")
        return shard(self, count, index, **options)

    method.__signature__ = inspect.Signature(parameters)
    return method


Dataset.shard = _takes_world(Dataset.shard)


# Agreeing.

def _gather_by_torch(distributed):
    def all_gather(own):
        gathered = [None] * distributed.get_world_size()
        distributed.all_gather_object(gathered, own)
        return gathered

    return all_gather


def _gather_by_jax(own):
    import numpy as np
    from jax.experimental import multihost_utils

    # Arrays of one length: first the longest is agreed on.
    sizes = np.atleast_1d(multihost_utils.process_allgather(np.int32(len(own))))
    padded = np.zeros(int(sizes.max()), dtype=np.uint8)
    padded[:len(own)] = np.frombuffer(own, dtype=np.uint8)
    rows = np.atleast_2d(multihost_utils.process_allgather(padded))
    return [row[:size].tobytes() for row, size in zip(rows, sizes)]


def _all_gather_of(group):
    """Returns the function that gives every process's bytes, or None in a process alone."""
    if group is not None:
        if hasattr(group, "allgather"):  # mpi4py
            return group.allgather
        if callable(group):
            return group
        raise TypeError("agree: group is a communicator of mpi4py, or a function from this process's "
                        f"bytes to the list of everybody's; not {type(group).__name__}")
    distributed = _torch_distributed()
    if distributed is not None:
        return _gather_by_torch(distributed)
    if _jax() is not None:
        return _gather_by_jax
    mpi4py = sys.modules.get("mpi4py.MPI")
    if mpi4py is not None and mpi4py.Is_initialized() and not mpi4py.Is_finalized():
        return mpi4py.COMM_WORLD.allgather
    return None


def _alone(asker, world):
    """Returns the world if there is nobody else to ask."""
    if world.size > 1:
        raise Error(f"{asker}: this is {world}, and there is no group to ask the others: initialise "
                    "torch.distributed or jax.distributed, or give `group`", "failed_precondition")
    return world


def _shared(dataset, world):
    """Returns the dataset as rank 0 has it: that of another rank differs in its shard alone."""
    def as_first(stages):
        for stage in stages:
            if stage.get("stage") == "shard" and stage.get("count") == world.size:
                if stage.get("index", 0) == world.rank:
                    stage["index"] = 0
            for others in stage.get("inputs", ()):
                as_first(others if isinstance(others, list) else others.get("stages", ()))

    described = json.loads(dataset._core.to_json(True))
    as_first(described["stages"])
    return _unpickled(json.dumps(described), dataset._objects(), ())


def _short(value):
    text = str(value)
    return text if len(text) <= _SHOWN_MAX else text[:_SHOWN_MAX] + "..."


def _own_values(dataset, world, values):
    """Returns what must be equal everywhere, in the order in which differences are told."""
    own = {"version of infeed": _core.__version__, "size of the world": world.size}
    own.update({name: repr(value) for name, value in values.items()})
    if dataset is not None:
        own["fingerprint"] = f"{_shared(dataset, world).fingerprint:016x}"
    return own


_WHY = {
    "fingerprint": "the stages or the files differ, or a stage that draws has no seed, so that each "
                   "process drew its own",
    "version of infeed": "install the same one everywhere",
}


def agree(dataset=None, world=None, *, group=None, **values):
    """Compares what all processes of the job are about to do, and raises if they differ.

    dataset: its fingerprint must be equal, but for the index of shard(world). Folders may differ.
    world: this process's; detect_world() by default. Each rank must be there equally often.
    group: how to ask the others: a communicator of mpi4py, or a function from this process's bytes
        to the list of everybody's. By default torch.distributed or jax.distributed, if the program
        has initialised it, or mpi4py, if it is imported.
    values: whatever else must be equal: seed=42, order_hash=iterator.order_hash.

    Every process must call it. Raises Error "failed_precondition" that names the processes which
    differ from process 0, at all of them. A process that doesn't come is up to the group's own time
    limit. Returns the world.
    """
    world = detect_world() if world is None else world
    all_gather = _all_gather_of(group)
    if all_gather is None:
        return _alone("agree", world)
    try:
        mine = {"rank": world.rank, "values": _own_values(dataset, world, values)}
    except Exception as error:  # the others are told, instead of left waiting
        all_gather(json.dumps({"rank": world.rank, "failure": str(error)}).encode())
        raise
    everybody = [json.loads(text) for text in all_gather(json.dumps(mine).encode())]
    _compare(everybody, world)
    return world


def merge_bad_rows(rows, *, group=None):
    """Returns the bad rows of all processes of the job, sorted, each record once: what one process
    would have had, at any number of them. Every process must call it.

    rows: iterator.bad_rows of this one, with those from before a restart.
    group: as that of agree().
    """
    all_gather = _all_gather_of(group)
    if all_gather is None:
        _alone("merge_bad_rows", detect_world())
        everybody = [rows]
    else:
        everybody = [json.loads(text) for text in all_gather(json.dumps(rows).encode())]
    return sorted({BadRow(*row) for theirs in everybody for row in theirs})


def _compare(everybody, world):
    for i, other in enumerate(everybody):
        if "failure" in other:
            raise Error(f"agree: process {i} failed: {other['failure']}", "failed_precondition")
    first = everybody[0]["values"]
    for name in {name: None for other in everybody for name in other["values"]}:
        differing = [f"process {i} (rank {other['rank']}) has {_short(other['values'].get(name))}"
                     for i, other in enumerate(everybody)
                     if other["values"].get(name) != first.get(name)]
        if differing:
            why = f"; {_WHY[name]}" if name in _WHY else ""
            raise Error(f"agree: {name} is not the same everywhere: {', '.join(differing)}; process 0 "
                        f"has {_short(first.get(name))}{why}", "failed_precondition")
    ranks = sorted(other["rank"] for other in everybody)
    times, left = divmod(len(ranks), world.size)
    if left or ranks != [rank for rank in range(world.size) for _ in range(times)]:
        raise Error(f"agree: {len(ranks)} processes have the ranks {_short(ranks)} of {world.size}: each "
                    "rank must be there equally often, or rows are read twice and others never",
                    "failed_precondition")
