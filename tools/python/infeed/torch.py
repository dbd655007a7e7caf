"""Batches as dictionaries of PyTorch tensors: for plain loops, DataLoader, StatefulDataLoader,
Lightning."""

import torch as _torch
import torch.utils.data as _data

from ._adapted import Adapted, as_batch
from ._ragged import Ragged

_ONE_WORKER = (
    "infeed reads with threads of its own, so DataLoader needs no workers, and each of {workers} workers "
    "would read all the data: the model would see every batch {workers} times. Use "
    "DataLoader(dataset, batch_size=None, num_workers=0), or loop over dataset.torch() itself. "
    "To read less in each of several training processes, use Dataset.shard().")


def _changed(value, change):
    """Returns the column with each of its tensors changed; those of a sequence are its values and its splits."""
    if isinstance(value, _torch.Tensor):
        return change(value)
    if isinstance(value, Ragged):
        return Ragged(_changed(value.values, change), tuple(_changed(level, change) for level in value.row_splits))
    return value  # texts: PyTorch has no type for them


class _Form:
    """Turns a Batch into tensors; an object, so that it pickles for a worker."""

    def __init__(self, device, pin_memory):
        self.device, self.pin_memory = device, pin_memory

    def __call__(self, batch):
        columns = as_batch(batch).torch()
        if self.pin_memory:
            columns = {name: _changed(value, _torch.Tensor.pin_memory) for name, value in columns.items()}
        if self.device is not None:
            columns = {name: _changed(value, self._moved) for name, value in columns.items()}
        return columns

    def _moved(self, tensor):
        return tensor.to(self.device, non_blocking=self.pin_memory)


class TorchDataset(Adapted, _data.IterableDataset):
    """An IterableDataset of dictionaries of tensors. Every item is a whole batch already, so a
    DataLoader around it takes batch_size=None."""

    def __iter__(self):
        worker = _data.get_worker_info()
        if worker is not None and worker.num_workers > 1:
            raise RuntimeError(_ONE_WORKER.format(workers=worker.num_workers))
        return super().__iter__()


def iterable(dataset, *, device=None, pin_memory=False):
    """Returns an iterable (a torch IterableDataset) of dictionaries of tensors.

    Tensors share the engine's memory, except where others see it, too (a cache): those are copied,
    since PyTorch has no read-only tensors. Sequences are infeed.Ragged, texts lists of bytes.

    A DataLoader needs no worker. With num_workers=1 give it persistent_workers=True, too: a worker that is
    started anew for each epoch counts from epoch 0 again, and each epoch would have the same order.

    device moves every tensor there; pin_memory copies it into pinned memory first, so that the move
    goes on beside the computation.
    """
    return TorchDataset(dataset, _Form(device, pin_memory))
