"""TFRecord files of tf.train.Example, read by nobody's library: by what the formats' documents say."""

import struct


def read_records(file):
    with open(file, "rb") as stream:
        content = stream.read()
    records, at = [], 0
    while at < len(content):
        (size,) = struct.unpack_from("<Q", content, at)
        records.append(content[at + 12:at + 12 + size])
        at += size + 16
    return records


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def fields(data):
    """Pairs of a field's number and its content: bytes, or an integer of a varint."""
    at = 0
    while at < len(data):
        tag, at = read_varint(data, at)
        if tag & 7 == 0:
            value, at = read_varint(data, at)
        elif tag & 7 == 5:
            value, at = data[at:at + 4], at + 4
        else:
            size, at = read_varint(data, at)
            value, at = data[at:at + size], at + size
        yield tag >> 3, value


def read_integers(packed):
    values, at = [], 0
    while at < len(packed):
        value, at = read_varint(packed, at)
        values.append(value - (1 << 64) if value >> 63 else value)
    return values


def read_feature(data):
    """("bytes" | "floats" | "integers", values); floats as their four bytes."""
    ((kind, values),) = fields(data)
    lists = [value for _, value in fields(values)]
    if kind == 1:
        return "bytes", lists
    if kind == 2:
        packed = b"".join(lists)
        return "floats", [packed[at:at + 4] for at in range(0, len(packed), 4)]
    return "integers", [value for item in lists
                        for value in ([item] if isinstance(item, int) else read_integers(item))]


def read_example(record):
    """Features by their name, which is bytes."""
    example = {}
    for _, features in fields(record):
        for _, entry in fields(features):
            parts = dict(fields(entry))
            example[parts.get(1, b"")] = read_feature(parts[2])
    return example


def read_examples(file):
    return [read_example(record) for record in read_records(file)]
