"""infeed: input pipelines for machine-learning training.

    import infeed

    batches = (infeed.read("train-*.tfrecord")
               .shuffle(10_000, seed=42)
               .repeat(10)
               .parse({"image": ("uint8", (784,)), "label": "int64"})
               .batch(128)
               .prefetch())
    for batch in batches:
        images = batch["image"].numpy()

Every stage has the name that it has in C++ and in tf.data. The order is a function of the seeds
alone, and an iterator's state_dict() goes on exactly where it stopped, in another process, too.
"""

from . import _core
from ._core import Batch, Column, RecordWriter, Statistics, TuningReport, batch, example
from ._dataset import SOURCES, Dataset, from_generator, from_json, from_numpy, join, reshard
from ._errors import Error
from ._iterator import Iterator
from ._place import BadRow, Place, Traced
from ._ragged import Ragged
from ._read import read
from ._schema import ColumnSpec, Field, bytes_, column, padded, ragged
from .world import World, agree, detect_world, merge_bad_rows
from ._writing import Converted, convert

__version__ = _core.__version__


def concatenate(first, *others):
    """Appends datasets to the first one. They may be given as a list."""
    return join("concatenate", first, *others)


def zip(first, *others):  # noqa: A001: the name in C++ and tf.data
    """Puts the columns of datasets of batches side by side. They may be given as a list."""
    return join("zip", first, *others)


def from_arrow(source, **options):
    """Reads anything with __arrow_c_stream__: pyarrow, polars, DuckDB, pandas, Hugging Face."""
    from . import arrow

    return arrow.read(source, **options)


def from_hf(source, **options):
    """Reads a dataset of the library `datasets`."""
    from . import hf

    return hf.read(source, **options)


# The native sources: records, lines, csv, ...
globals().update(SOURCES)

__all__ = ["BadRow", "Batch", "Column", "ColumnSpec", "Converted", "Dataset", "Error", "Field", "Iterator", "Place", "Ragged",
           "RecordWriter", "Statistics", "Traced", "TuningReport", "World", "agree", "batch", "bytes_", "column", "concatenate", "convert",
           "detect_world", "example", "from_arrow", "from_generator", "from_hf", "from_json", "from_numpy",
           "merge_bad_rows", "padded", "ragged", "read", "reshard", "zip", *SOURCES]
