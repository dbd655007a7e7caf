"""pandas and pyarrow on the CSV of 40 features of the group `python`: dictionaries of NumPy arrays of 1,024 rows.

    python_csv.py pandas|pyarrow
"""

import sys

import peer
from python_loop import FEATURES, FEATURES_ROWS, features_file, forever, of_features


def _cut(columns, count):
    """The batches of 1,024 rows of NumPy arrays; what is left over at the end is dropped."""
    for begin in range(0, count - FEATURES_ROWS + 1, FEATURES_ROWS):
        yield {name: values[begin:begin + FEATURES_ROWS] for name, values in columns.items()}


def _pandas():
    import pandas  # pylint: disable=import-outside-toplevel

    def arrays(frame):
        return {name: frame[name].to_numpy() for name in FEATURES}

    def chunks(request, rows, **more):
        def one_pass():
            with pandas.read_csv(features_file(request), dtype=FEATURES, chunksize=rows, **more) as reader:
                for chunk in reader:
                    yield from _cut(arrays(chunk), len(chunk))

        return forever(one_pass)

    def whole(request, **more):
        def one_pass():
            frame = pandas.read_csv(features_file(request), dtype=FEATURES, **more)
            return _cut(arrays(frame), len(frame))

        return forever(one_pass)

    return {"chunks of 1,024 rows": lambda request: chunks(request, FEATURES_ROWS),
            "chunks of 65,536 rows, cut": lambda request: chunks(request, 65_536),
            "the whole file, cut": whole,
            "the whole file by pyarrow's engine, cut": lambda request: whole(request, engine="pyarrow")}


def _pyarrow():
    import pyarrow as pa  # pylint: disable=import-outside-toplevel
    import pyarrow.csv  # pylint: disable=import-outside-toplevel

    pa.set_cpu_count(2)
    convert = pa.csv.ConvertOptions(column_types={name: pa.type_for_alias(dtype) for name, dtype in FEATURES.items()})

    def arrays(batch):
        return {name: batch.column(name).to_numpy() for name in FEATURES}

    def streamed(request, mib):
        read = pa.csv.ReadOptions(block_size=mib << 20)

        def one_pass():
            with pa.csv.open_csv(features_file(request), read, None, convert) as reader:
                for batch in reader:
                    yield from _cut(arrays(batch), batch.num_rows)

        return forever(one_pass)

    def whole(request):
        def one_pass():
            table = pa.csv.read_csv(features_file(request), None, None, convert)
            return _cut(arrays(table), table.num_rows)

        return forever(one_pass)

    return {"open_csv, blocks of 1 MiB, cut": lambda request: streamed(request, 1),
            "open_csv, blocks of 16 MiB, cut": lambda request: streamed(request, 16),
            "read_csv, the whole file, cut": whole}


if __name__ == "__main__":
    peer.serve(of_features({"pandas": _pandas, "pyarrow": _pyarrow}[sys.argv[1]]()))
