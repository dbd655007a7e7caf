"""Files that the tests read, written by hand: what is read from them is known, and by no code of infeed's."""

import json
import os
import struct
import tarfile
import zlib

import numpy as np

IMAGE_BYTES = 48
RECORDS = 500
SHARDS = 4


def _crc_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_TABLE = _crc_table()


def _masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def write_records(path, records):
    """Writes a TFRecord file."""
    with open(path, "wb") as file:
        for record in records:
            length = struct.pack("<Q", len(record))
            file.write(length + struct.pack("<I", _masked_crc(length))
                       + record + struct.pack("<I", _masked_crc(record)))


def _varint(number):
    number &= (1 << 64) - 1
    text = b""
    while number >= 0x80:
        text += bytes([number & 0x7F | 0x80])
        number >>= 7
    return text + bytes([number])


def _message(field, content):
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def example(features):
    """Returns a tf.train.Example of lists of bytes, floats or integers."""
    entries = b""
    for name, values in features.items():
        if values and isinstance(values[0], bytes):
            content = _message(1, b"".join(_message(1, value) for value in values))
        elif values and isinstance(values[0], float):
            content = _message(2, _message(1, struct.pack(f"<{len(values)}f", *values)))
        else:
            content = _message(3, _message(1, b"".join(map(_varint, values))))
        entries += _message(1, _message(1, name.encode()) + _message(2, content))
    return _message(1, entries)


def png(width, height, index):
    """Returns a grey PNG picture."""
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    lines = b"".join(b"\0" + bytes((index + x * y) % 256 for x in range(width)) for y in range(height))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def image(index):
    """Returns the bytes of record `index`."""
    return bytes((index * 7 + place) % 256 for place in range(IMAGE_BYTES))


def tokens(index):
    """Returns the tokens of record `index`: 1 to 9 of them."""
    return [index * 10 + place for place in range(1 + index % 9)]


SCHEMA = {"image": ("uint8", (IMAGE_BYTES,)), "label": "int64"}


def make(folder):
    """Writes all files; record number i lies in shard i % SHARDS."""
    for shard in range(SHARDS):
        indices = range(shard, RECORDS, SHARDS)
        write_records(os.path.join(folder, f"images.tfrecord-{shard:05}-of-{SHARDS:05}"), [
            example({"image": [image(i)], "label": [i], "tokens": tokens(i)}) for i in indices])
    with open(os.path.join(folder, "table.csv"), "w", encoding="utf-8") as file:
        file.write("id,weight,word\n")
        file.writelines(f"{i},{i / 4},word{i}\n" for i in range(300))
    with open(os.path.join(folder, "documents.jsonl"), "w", encoding="utf-8") as file:
        for i in range(300):
            print(json.dumps({"id": i, "tokens": tokens(i)}), file=file)
    with open(os.path.join(folder, "lines.txt"), "w", encoding="utf-8") as file:
        file.writelines(f"line {i}\n" for i in range(300))
    np.save(os.path.join(folder, "rows.npy"), np.arange(300 * 6, dtype=np.float32).reshape(300, 6))
    np.savez(os.path.join(folder, "parts.npz"), x=np.arange(300, dtype=np.int32),
             y=np.arange(600, dtype=np.float64).reshape(300, 2))
    np.save(os.path.join(folder, "numbers.npy"), np.arange(300, dtype=np.int64))
    with tarfile.open(os.path.join(folder, "samples.tar"), "w") as tar:
        for i in range(20):
            for extension in ["cls", "txt"]:
                member = os.path.join(folder, f"{i:03}.{extension}")
                with open(member, "w", encoding="utf-8") as file:
                    file.write(f"{extension} {i}")
                tar.add(member, os.path.basename(member))
                os.remove(member)
    for i in range(12):
        os.makedirs(os.path.join(folder, "classes", ["cat", "dog"][i % 2]), exist_ok=True)
        with open(os.path.join(folder, "classes", ["cat", "dog"][i % 2], f"{i}.txt"), "w", encoding="utf-8") as file:
            file.write(f"file {i}")
