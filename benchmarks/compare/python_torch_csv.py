"""PyTorch's DataLoader on the CSV of 40 features of the group `python`: it has no reader of its own, so an
IterableDataset parses the lines, by NumPy for whole batches, or by Python's csv as tutorials do."""

import csv
import itertools

import numpy as np
import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

import peer
from python_loop import FEATURES_ROWS, features_file, forever, of_features

torch.set_num_threads(1)

_INTEGERS = 26


def _of_numbers(numbers):
    return torch.from_numpy(numbers[:, :_INTEGERS].astype(np.int64)), torch.from_numpy(
        numbers[:, _INTEGERS:].astype(np.float32))


def _by_numpy(lines):
    text = b"".join(lines).replace(b"\n", b",")
    return _of_numbers(np.fromstring(text, sep=",").reshape(len(lines), -1))


def _by_csv(lines):
    rows = csv.reader(line.decode() for line in lines)
    return _of_numbers(np.array([[float(cell) for cell in row] for row in rows]))


class _Batches(IterableDataset):
    """Every n-th batch of lines in each of n workers."""

    def __init__(self, path, parse):
        self.path, self.parse = path, parse

    def __iter__(self):
        worker = get_worker_info()
        mine, workers = (0, 1) if worker is None else (worker.id, worker.num_workers)
        with open(self.path, "rb", buffering=1 << 20) as file:
            next(file)
            for number in itertools.count():
                lines = list(itertools.islice(file, FEATURES_ROWS))
                if len(lines) < FEATURES_ROWS:
                    return
                if number % workers == mine:
                    yield self.parse(lines)


def _ways():
    def way(parse, workers):
        def make(request):
            loader = DataLoader(_Batches(features_file(request), parse), batch_size=None, num_workers=workers,
                                persistent_workers=workers > 0)
            return forever(lambda: iter(loader))

        return make

    ways = {f"lines by NumPy, {workers} workers": way(_by_numpy, workers) for workers in (0, 1, 2)}
    return {**ways, "rows by Python's csv, 2 workers": way(_by_csv, 2)}


if __name__ == "__main__":
    peer.serve(of_features(_ways()))
