"""Hugging Face datasets as a Dataset, and a Dataset as one of theirs."""

from . import arrow as _arrow
from ._errors import invalid


def read(dataset):
    """Returns a Dataset of the rows of a datasets.Dataset (a split that was loaded or mapped
    into memory). Put batch() behind it.

    Its Arrow table is read where it lies. One that was shuffled or filtered has a list of rows
    beside the table; datasets' flatten_indices() makes a table of those first. Columns of features
    that aren't numbers, bools, texts or lists of them (Image, Audio) are structs of bytes and path: columns
    "image.bytes" and "image.path".
    """
    if not hasattr(getattr(dataset, "data", None), "table"):
        raise invalid(f"from_hf: a {type(dataset).__name__} has no table in memory; give a datasets.Dataset, as a split "
                      "of a DatasetDict is: dataset['train']")
    if getattr(dataset, "_indices", None) is not None:
        dataset = dataset.flatten_indices()
    return _arrow.read(dataset.data.table)


def _batches(dataset):
    import pyarrow as pa  # pylint: disable=import-outside-toplevel
    stream = pa.RecordBatchReader.from_stream(_arrow.reader(dataset))
    for number, batch in enumerate(stream):
        yield number, pa.Table.from_batches([batch])


def to_hf(dataset):
    """Returns a datasets.IterableDataset of the Dataset's rows; .with_format("torch") and .batch()
    of theirs work on Arrow's batches without a copy."""
    import datasets  # pylint: disable=import-outside-toplevel
    from datasets.iterable_dataset import ArrowExamplesIterable  # pylint: disable=import-outside-toplevel
    return datasets.IterableDataset(ArrowExamplesIterable(_batches, {"dataset": dataset}))
