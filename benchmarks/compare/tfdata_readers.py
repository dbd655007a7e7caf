"""The ways in which tf.data's own people read and parse shards; the best one is compared with ours."""

import tensorflow as tf

from tfdata_drain import AUTOTUNE

_LARGE_BUFFER = 8 << 20


def parse_forms(files, batch, parse, compression=""):
    """make() by form: endless datasets of parsed batches."""

    def reader(file, **more):
        return tf.data.TFRecordDataset(file, compression_type=compression, **more).repeat().batch(
            batch, drop_remainder=True)

    def parsed(records):
        return records.map(parse, num_parallel_calls=AUTOTUNE).prefetch(AUTOTUNE)

    def interleaved(of_file):
        # Every file goes on for ever, so that all batches are whole. More calls than files are refused.
        return tf.data.Dataset.from_tensor_slices(files).interleave(
            of_file, cycle_length=len(files), num_parallel_calls=min(2, len(files)))

    return {
        "parallel reads, batch, parse":
            lambda: parsed(reader(files, num_parallel_reads=AUTOTUNE)),
        "parallel reads of 8 MiB, batch, parse":
            lambda: parsed(reader(files, num_parallel_reads=AUTOTUNE, buffer_size=_LARGE_BUFFER)),
        "one reader, batch, parse": lambda: parsed(reader(files)),
        "one reader of 8 MiB, batch, parse":
            lambda: parsed(reader(files, buffer_size=_LARGE_BUFFER)),
        "interleave(read, batch), parse": lambda: parsed(interleaved(reader)),
        "interleave(read of 8 MiB, batch), parse":
            lambda: parsed(interleaved(lambda f: reader(f, buffer_size=_LARGE_BUFFER))),
        "interleave(read, batch, parse)":
            lambda: interleaved(lambda f: reader(f).map(parse)).prefetch(AUTOTUNE),
        "interleave(read, batch, parse), synchronous":
            lambda: interleaved(lambda f: reader(f).map(parse, synchronous=True))
            .prefetch(AUTOTUNE),
    }
