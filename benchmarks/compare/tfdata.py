"""tf.data's side of the comparison; run by compare.py with the environment's Python."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import peer
import python_tfdata
import tfdata_convert
import tfdata_engine
import tfdata_images
import tfdata_photos
import tfdata_records
import tfdata_text


def main():
    peer.serve({**tfdata_engine.measurements(), **tfdata_images.measurements(),
                **tfdata_records.measurements(), **tfdata_convert.measurements(),
                 **tfdata_photos.measurements(), **python_tfdata.measurements(), **tfdata_text.measurements()})


if __name__ == "__main__":
    main()
