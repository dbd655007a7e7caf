"""Makes the photographs that the group "image" decodes: 1,000 JPEGs of about 500 x 375 pixels, cut at
random out of the photographs that scikit-image and scikit-learn ship.

    photo_data.py FOLDER

Writes FOLDER/data-*.tfrecord (tf.train.Examples with the features "image" and "label") for those who
read records, and the same images as FOLDER/jpeg/*.jpg for those who read files. Nothing is
written when the folder is there already.
"""

import importlib.util
import os
import random
import shutil
import sys

from PIL import Image

IMAGES, SHARDS = 1000, 4
# Of each package, below its folder. The colour photographs; the rest are drawings and textures.
PHOTOGRAPHS = {
    "skimage": [f"data/{name}" for name in (
        "astronaut.png", "chelsea.png", "coffee.png", "hubble_deep_field.jpg", "ihc.png",
        "motorcycle_left.png", "motorcycle_right.png", "retina.jpg", "rocket.jpg")],
    "sklearn": [f"datasets/images/{name}" for name in ("china.jpg", "flower.jpg")],
}


def _folder_of(package):
    # Not imported: that would ask for all that it is built on.
    found = importlib.util.find_spec(package)
    if found is None:
        sys.exit(f"the Python package {package} is missing; benchmarks/requirements.txt has it")
    return found.submodule_search_locations[0]


def _photographs():
    return [Image.open(os.path.join(_folder_of(package), name)).convert("RGB")
            for package, names in PHOTOGRAPHS.items() for name in names]


def _cut(photograph, draw):
    """A part of about 4 : 3 with 40 to 100 % of what has room, at about the size of ImageNet's."""
    width, height = draw.randint(440, 560), draw.randint(330, 420)
    scale = min(photograph.width / width, photograph.height / height) * draw.uniform(0.63, 1)
    part = int(width * scale), int(height * scale)
    left = draw.randint(0, photograph.width - part[0])
    top = draw.randint(0, photograph.height - part[1])
    return photograph.crop((left, top, left + part[0], top + part[1])).resize(
        (width, height), Image.LANCZOS)


def _write_jpegs(folder):
    os.makedirs(folder)
    draw = random.Random(17)
    photographs = _photographs()
    for i in range(IMAGES):
        image = _cut(photographs[i % len(photographs)], draw)
        image.save(os.path.join(folder, f"{i:04}.jpg"), quality=draw.randint(85, 90))


def _write_records(folder):
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    import tensorflow as tf

    for shard in range(SHARDS):
        name = os.path.join(folder, f"data-{shard:05}-of-{SHARDS:05}.tfrecord")
        with tf.io.TFRecordWriter(name) as writer:
            for i in range(shard, IMAGES, SHARDS):
                with open(os.path.join(folder, "jpeg", f"{i:04}.jpg"), "rb") as file:
                    image = tf.train.BytesList(value=[file.read()])
                label = tf.train.Int64List(value=[i % 11])
                writer.write(tf.train.Example(features=tf.train.Features(feature={
                    "image": tf.train.Feature(bytes_list=image),
                    "label": tf.train.Feature(int64_list=label)})).SerializeToString())


def main():
    folder = sys.argv[1]
    if os.path.exists(folder):
        return
    partial = folder + ".partial"
    shutil.rmtree(partial, ignore_errors=True)
    _write_jpegs(os.path.join(partial, "jpeg"))
    _write_records(partial)
    os.rename(partial, folder)


if __name__ == "__main__":
    main()
