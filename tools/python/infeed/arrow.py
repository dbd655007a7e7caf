"""Arrow's tables as a Dataset, and a Dataset as a stream of Arrow's batches. pyarrow itself isn't needed."""

import infeed as _infeed

from . import _core
from ._adapted import as_batch


class Reader:
    """A stream of Arrow's batches: give it to pyarrow.RecordBatchReader.from_stream(), pyarrow.table(),
    polars.DataFrame() or duckdb. Each consumer that asks gets a pass of its own."""

    def __init__(self, dataset):
        self.dataset = dataset

    def __arrow_c_stream__(self, requested_schema=None):
        batches = map(as_batch, iter(self.dataset))
        # Without a batch the reader learns the columns from one of no rows.
        at_end = None if self.dataset._consumers else self.dataset._core.batch_without_rows()

        def following():
            nonlocal at_end
            batch = next(batches, at_end)
            at_end = None
            return batch

        return _core._arrow_stream(following)


def reader(dataset):
    """Returns an object with __arrow_c_stream__. Values are not copied, except bools (Arrow has bits)."""
    return Reader(dataset)


def read(table):
    """Returns a Dataset of the rows of a table that lies in memory or is mapped: anything with
    __arrow_c_stream__ or __arrow_c_array__ (pyarrow, pandas, polars, DuckDB, Hugging Face datasets).
    Put batch() behind it.

    Values stay where they are. Bools, offsets of 32 bits, and texts of the string-view type are
    copied. There are no nulls in columns: fill them first. Members of structs become columns
    "struct.member"; dates, times and durations become their integers. A stream that
    can be read only once (RecordBatchReader) is read now, as a whole.
    """
    batches = _core._batches_from_arrow(table)
    # Without rows one of them still has the columns.
    batches = [batch for batch in batches if batch.rows()] or batches[:1]
    return _infeed.from_numpy(batches[0] if len(batches) == 1 else tuple(batches))
