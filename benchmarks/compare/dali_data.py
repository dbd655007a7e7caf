"""DALI's side: its TFRecord reader on the CPU. It needs an index beside each file and verifies no
checksums. The twin of tfdata_records.py."""

import dataclasses
import glob
import os
import struct
import time

import nvidia.dali.fn as fn
import nvidia.dali.tfrecord as tfrecord
from nvidia.dali import pipeline_def, types

import peer

BATCH = 128

# Readers that copy (pread) or map; threads as many as the others have.
FORMS = {
    "two threads": {},
    "two threads, no mapping": {"dont_use_mmap": True},
    "two threads, eight batches ahead": {"prefetch_queue_depth": 8},
    "two threads, dynamic executor": {"exec_dynamic": True},
    "one thread": {"num_threads": 1},
}


def _index_of(file):
    """A line `offset size` for each record, which DALI's tfrecord2idx would write."""
    index = file + ".dali-index"
    if os.path.exists(index):
        return index
    with open(file, "rb") as records, open(index + ".partial", "w") as lines:
        end = os.path.getsize(file)
        offset = 0
        while offset < end:
            records.seek(offset)
            size = 16 + struct.unpack("<Q", records.read(8))[0]
            lines.write(f"{offset} {size}\n")
            offset += size
    os.rename(index + ".partial", index)
    return index


def _records_a_second(kind, features, request, prefetch_queue_depth=2, num_threads=2,
                      exec_dynamic=False, dont_use_mmap=False):
    files = sorted(glob.glob(os.path.join(request.data, kind, "data-*.tfrecord")))
    assert len(files) == 4, files

    @pipeline_def(batch_size=BATCH, num_threads=num_threads, device_id=None,
                  prefetch_queue_depth=prefetch_queue_depth, exec_dynamic=exec_dynamic)
    def pipeline():
        columns = fn.readers.tfrecord(
            path=files, index_path=[_index_of(file) for file in files], features=features,
            dont_use_mmap=dont_use_mmap, prefetch_queue_depth=prefetch_queue_depth)
        return tuple(columns[name] for name in features)

    return _batches_a_second(pipeline(), request) * BATCH


def _batches_a_second(pipe, request):
    pipe.build()

    def batches_until(seconds):
        batches = 0
        start = time.perf_counter()
        while (elapsed := time.perf_counter() - start) < seconds:
            pipe.run()
            batches += 1
        return batches, elapsed

    batches_until(request.seconds / 2)
    batches, elapsed = batches_until(request.seconds)
    return batches / elapsed


def _photographs_a_second(request, num_threads=2, prefetch_queue_depth=2, layout="HWC",
                          jpeg_fancy_upsampling=False, antialias=True):
    files = sorted(glob.glob(os.path.join(request.data, "photos", "data-*.tfrecord")))
    assert len(files) == 4, files

    @pipeline_def(batch_size=BATCH, num_threads=num_threads, device_id=None,
                  prefetch_queue_depth=prefetch_queue_depth)
    def pipeline():
        columns = fn.readers.tfrecord(
            path=files, index_path=[_index_of(file) for file in files],
            features={"image": _one(tfrecord.string, ""), "label": _one(tfrecord.int64, -1)})
        images = fn.decoders.image_random_crop(
            columns["image"], random_area=[0.08, 1.0], random_aspect_ratio=[3 / 4, 4 / 3],
            num_attempts=10, jpeg_fancy_upsampling=jpeg_fancy_upsampling)
        images = fn.resize(images, size=[224, 224], antialias=antialias)
        images = fn.crop_mirror_normalize(
            images, mirror=fn.random.coin_flip(), dtype=types.FLOAT, output_layout=layout,
            mean=[0.485 * 255, 0.456 * 255, 0.406 * 255],
            std=[0.229 * 255, 0.224 * 255, 0.225 * 255])
        return images, columns["label"]

    # A batch takes a quarter of a second.
    longer = dataclasses.replace(request, seconds=5 * request.seconds)
    return _batches_a_second(pipeline(), longer) * BATCH


PHOTO_FORMS = {
    "two threads": {},
    "two threads, without antialiasing": {"antialias": False},
    "two threads, four batches ahead": {"prefetch_queue_depth": 4},
    "two threads, CHW": {"layout": "CHW"},
    "three threads": {"num_threads": 3},
}


def _photographs():
    return {form: (lambda request, more=more: _photographs_a_second(request, **more))
            for form, more in PHOTO_FORMS.items()}


def _parse(kind, features):
    return {form: (lambda request, more=more: _records_a_second(kind, features, request, **more))
            for form, more in FORMS.items()}


def _one(kind, default):
    return tfrecord.FixedLenFeature((), kind, default)


def main():
    label = _one(tfrecord.int64, -1)
    image = {"image": _one(tfrecord.string, ""), "label": label}
    peer.serve({
        "parse, 784 B images": _parse("image-784", image),
        "parse, 2 KB images": _parse("image-2k", image),
        "parse, 112 KB images": _parse("image-112k", image),
        "parse, 112 KB images, mapped": _parse("image-112k", image),
        "parse, 40 scalars": _parse(
            "scalars", {f"s{i:02}": _one(tfrecord.float32, 0.0) for i in range(40)}),
        "parse, 768 floats": _parse("floats", {
            "values": tfrecord.FixedLenFeature([768], tfrecord.float32, 0.0), "label": label}),
        "parse, 512 tokens": _parse("tokens", {
            name: tfrecord.FixedLenFeature([512], tfrecord.int64, 0) for name in ("tokens", "mask")}),
        "parse, 2 KB text": _parse("text", {"text": _one(tfrecord.string, "")}),
        "decode, random resized crop, flip, normalise: batches of 128": _photographs(),
    })


if __name__ == "__main__":
    main()
