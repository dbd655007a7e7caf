"""SPDL on rows of the group `python`: arrays in memory, and photographs. Its threads call functions that let go of
the interpreter's lock: NumPy's, and FFmpeg's decoder."""

import glob
import math
import os
import random

import numpy as np
from spdl.pipeline import PipelineBuilder

import peer
from python_loop import image_arrays, images_a_second, of_both_sizes

BATCH, SIDE = 128, 224
ROW = "decode, random resized crop, flip, normalise: batches of 128"
_MEAN = np.array([0.485 * 255, 0.456 * 255, 0.406 * 255], np.float32)
_DEVIATION = np.array([0.229 * 255, 0.224 * 255, 0.225 * 255], np.float32)


def _running(builder, threads):
    """What a pipeline gives, until nobody asks any more."""
    pipeline = builder.add_sink(4).build(num_threads=threads)
    with pipeline.auto_stop():
        yield from pipeline


def _memory(rows):
    def make(request, threads):
        images, labels = image_arrays(request)

        def indices():
            draw = np.random.default_rng(42)
            while True:
                order = draw.permutation(len(labels))
                yield from (order[i:i + rows] for i in range(0, len(order) - rows + 1, rows))

        return _running(PipelineBuilder().add_source(indices()).pipe(
            lambda index: {"image": images[index], "label": labels[index]}, concurrency=threads), threads)

    return {f"{threads} threads": (lambda request, threads=threads: images_a_second(
        lambda: make(request, threads), rows, request)) for threads in (1, 2)}


def _crop(width, height):
    """RandomResizedCrop and a flip as FFmpeg's filters."""
    flip = ",hflip" if random.random() < 0.5 else ""
    for _ in range(10):
        area = width * height * random.uniform(0.08, 1)
        ratio = math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            x, y = random.randint(0, width - w), random.randint(0, height - h)
            return f"crop={w}:{h}:{x}:{y},scale={SIDE}:{SIDE}:flags=bilinear{flip},format=rgb24"
    return f"scale={SIDE}:{SIDE}:flags=bilinear{flip},format=rgb24"


def _photographs():
    import spdl.io  # pylint: disable=import-outside-toplevel

    def decoded(source):
        packets = spdl.io.demux_image(source)
        return spdl.io.decode_packets(packets, filter_desc=_crop(packets.width, packets.height))

    def normalised(frames):
        pixels = spdl.io.to_numpy(spdl.io.convert_frames(frames))
        return (pixels.astype(np.float32) - _MEAN) / _DEVIATION

    def make(request, threads, in_memory):
        files = sorted(glob.glob(os.path.join(request.data, "photos", "jpeg", "*.jpg")))
        assert len(files) == 1000, len(files)
        contents = files
        if in_memory:
            contents = []
            for name in files:
                with open(name, "rb") as file:
                    contents.append(file.read())

        def forever():
            while True:
                yield from contents

        return _running(PipelineBuilder().add_source(forever()).pipe(decoded, concurrency=threads)
                        .aggregate(BATCH).pipe(normalised), threads + 1)

    def measure(threads, in_memory):
        def run(request):
            # A batch takes a quarter of a second.
            longer = peer.Request(request.name, request.form, 5 * request.seconds / 2, request.data)
            return images_a_second(lambda: make(longer, threads, in_memory), lambda batch: len(batch), longer)

        return run

    return {"two threads": measure(2, False), "two threads, files in memory": measure(2, True),
            "three threads": measure(3, False)}


if __name__ == "__main__":
    peer.serve({**of_both_sizes(_memory), ROW: _photographs()})
