"""Writes the images of the Fashion-MNIST shards as the peers of the group `python` want them: arrays for those that
read from memory, tars for WebDataset.

    python_files.py DATA

Nothing is written when DATA/python is there already.
"""

import glob
import io
import os
import shutil
import sys
import tarfile

import numpy as np

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests/interop"))
import example_records  # noqa: E402  pylint: disable=wrong-import-position

SHARDS = 16


def _write_tars(folder, images, labels):
    for shard in range(SHARDS):
        with tarfile.open(os.path.join(folder, f"train-{shard:02}.tar"), "w") as tar:
            for i in range(shard, len(labels), SHARDS):
                for ending, content in (("bin", images[i].tobytes()), ("cls", b"%d" % labels[i])):
                    entry = tarfile.TarInfo(f"{i:05}.{ending}")
                    entry.size = len(content)
                    tar.addfile(entry, io.BytesIO(content))


def main():
    """Writes into a folder beside, which is moved to its place when it is whole."""
    data = sys.argv[1]
    folder = os.path.join(data, "python")
    if os.path.isdir(folder):
        return
    examples = [example for file in sorted(glob.glob(os.path.join(data, "fashion-mnist", "*.tfrecord")))
                for example in example_records.read_examples(file)]
    images = np.stack([np.frombuffer(example[b"image"][1][0], np.uint8) for example in examples])
    labels = np.array([example[b"label"][1][0] for example in examples], np.int64)
    shutil.rmtree(folder + ".new", ignore_errors=True)
    os.makedirs(folder + ".new")
    np.save(os.path.join(folder + ".new", "images.npy"), images)
    np.save(os.path.join(folder + ".new", "labels.npy"), labels)
    _write_tars(folder + ".new", images, labels)
    os.rename(folder + ".new", folder)


if __name__ == "__main__":
    main()
