"""Grain's packing: documents stay whole, as ours do."""

import json
import mmap
import os
import time

import grain
import numpy as np
from grain import experimental

from python_loop import PACKED_ROW, images_a_second

_ROW_TOKENS = 2048


def _documents(request):
    lengths = np.fromfile(os.path.join(request.data, "documents", "lengths.bin"), np.int32)
    tokens = (np.arange(lengths.sum(), dtype=np.int32) % 50_000).astype(np.int32)
    ends = np.cumsum(lengths)
    return [{"tokens": tokens[end - length:end]} for length, end in zip(lengths, ends)]


def _pack(how, bins):
    def packed(request):
        source = grain.MapDataset.source(_documents(request)).to_iter_dataset(
            grain.ReadOptions(num_threads=0, prefetch_buffer_size=0))
        return how(source, length_struct={"tokens": _ROW_TOKENS}, num_packing_bins=bins,
                   shuffle_bins=False)
    return packed


class _Lines:
    """The lines of a file as a source: Grain has none for text."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            self.ends = np.cumsum([len(line) for line in file])
        self.text = None

    def __len__(self):
        return len(self.ends)

    def __getitem__(self, index):
        if self.text is None:  # not before it is in the process that reads
            with open(self.path, "rb") as file:
                self.text = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return self.text[self.ends[index - 1] if index else 0:self.ends[index]]


def _tokens(line):
    return {"tokens": np.array(json.loads(line)["tokens"], np.int32)}


def _pack_lines(threads=0, processes=0):
    def packed(request):
        source = (grain.MapDataset.source(_Lines(os.path.join(request.data, "documents-json", "documents.jsonl")))
                  .repeat().map(_tokens).to_iter_dataset(grain.ReadOptions(
                      num_threads=threads, prefetch_buffer_size=64 if threads else 0)))
        packs = experimental.FirstFitPackIterDataset(
            source, length_struct={"tokens": _ROW_TOKENS}, num_packing_bins=64, shuffle_bins=False)
        return packs.mp_prefetch(grain.MultiprocessingOptions(num_workers=processes)) if processes else packs

    return lambda request: images_a_second(lambda: packed(request), 1, request)


def _documents_per_second(packed):
    """Rows count as what is in them, so that the pass need not come to its end."""
    def measure(request):
        iterator = iter(packed(request))
        next(iterator)
        documents = 0
        start = time.perf_counter()
        while (elapsed := time.perf_counter() - start) < 2 * request.seconds:
            row = next(iterator, None)
            if row is None:
                break
            documents += int(row["tokens_segment_ids"].max())
        return documents / elapsed
    return measure


def _filled_percent(packed):
    def measure(request):
        held = rows = 0
        for row in packed(request):
            held += int(np.count_nonzero(row["tokens_segment_ids"]))
            rows += 1
        return 100 * held / (rows * _ROW_TOKENS)
    return measure


def measurements():
    ways = {f"{how.__name__}, {bins} bins": _pack(how, bins)
            for how in (experimental.FirstFitPackIterDataset, experimental.BestFitPackIterDataset)
            for bins in (8, 64)}
    return {
        PACKED_ROW: {"one thread": _pack_lines(), "two threads parse": _pack_lines(threads=2),
                     "two processes": _pack_lines(processes=2)},
        "documents packed into rows of 2048":
            {name: _documents_per_second(way) for name, way in ways.items()},
        "rows of 2048 that are filled": {name: _filled_percent(way) for name, way in ways.items()},
    }
