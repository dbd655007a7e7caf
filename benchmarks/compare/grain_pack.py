"""Grain's packing: documents stay whole, as ours do."""

import os
import time

import grain
import numpy as np
from grain import experimental

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
        "documents packed into rows of 2048":
            {name: _documents_per_second(way) for name, way in ways.items()},
        "rows of 2048 that are filled": {name: _filled_percent(way) for name, way in ways.items()},
    }
