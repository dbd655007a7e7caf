"""Images as infeed decodes and resizes them, beside Pillow: of each mode within 1 of 255 on average."""

import ctypes
import io
import os
import unittest

import numpy as np
from PIL import Image, ImageOps

LIBRARY = ctypes.CDLL(os.environ["INFEED_IMAGES_LIBRARY"])
LIBRARY.infeed_decode.restype = LIBRARY.infeed_resize.restype = ctypes.c_char_p
BYTES_MAX = 1 << 22
GREY, RGB, RGBA = 1, 3, 4
ANTIALIAS, BILINEAR, AREA = 0, 1, 2


class ImageError(Exception):
    pass


def _called(function, *arguments, image=None):
    out = np.zeros(BYTES_MAX, np.uint8)
    shape = (ctypes.c_int64 * 3)()
    if image is not None:
        out[:image.size] = image.reshape(-1)
        shape[:] = image.shape
    error = function(*arguments, shape, out.ctypes.data_as(ctypes.c_void_p),
                     ctypes.c_size_t(BYTES_MAX))
    if error is not None:
        raise ImageError(error.decode())
    return out[:shape[0] * shape[1] * shape[2]].reshape(tuple(shape)).copy()


def decode(data, channels=RGB):
    return _called(LIBRARY.infeed_decode, data, ctypes.c_size_t(len(data)), channels)


def resize(image, width, height, filter_number=ANTIALIAS):
    return _called(LIBRARY.infeed_resize, ctypes.c_size_t(width), ctypes.c_size_t(height),
                   filter_number, image=image)


def picture(width=123, height=87):
    """Gradients, edges and some noise."""
    y, x = np.mgrid[:height, :width]
    draw = np.random.default_rng(3)
    planes = [(x * a + y * b) % 200 + 40 * ((x // 13 + y // 9) % 2) for a, b in ((1, 2), (2, 1), (3, 3))]
    pixels = np.stack(planes, axis=-1) + draw.integers(0, 12, (height, width, 3))
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


def encoded(image, **how):
    file = io.BytesIO()
    image.save(file, **how)
    return file.getvalue()


def array_of(image):
    pixels = np.asarray(image)
    return pixels if pixels.ndim == 3 else pixels[:, :, None]


class Images(unittest.TestCase):
    def assert_alike(self, ours, theirs, mean_max=1.0):
        self.assertEqual(ours.shape, theirs.shape)
        self.assertLessEqual(np.abs(ours.astype(int) - theirs.astype(int)).mean(), mean_max)

    def assert_decoded_alike(self, data, mode="RGB", channels=RGB, mean_max=1.0):
        theirs = Image.open(io.BytesIO(data))
        self.assert_alike(decode(data, channels), array_of(theirs.convert(mode)), mean_max)

    def test_jpeg(self):
        for quality in (30, 75, 95):
            for subsampling in (0, 1, 2):
                for progressive in (False, True):
                    self.assert_decoded_alike(encoded(
                        picture(), format="JPEG", quality=quality, subsampling=subsampling,
                        progressive=progressive))

    def test_jpeg_of_grey(self):
        data = encoded(picture().convert("L"), format="JPEG")
        self.assert_decoded_alike(data)
        self.assert_decoded_alike(data, "L", GREY)

    def test_colour_to_grey(self):
        self.assert_decoded_alike(encoded(picture(), format="JPEG"), "L", GREY)
        self.assert_decoded_alike(encoded(picture(), format="PNG"), "L", GREY, 0.01)

    def test_jpeg_of_cmyk(self):
        image = picture().convert("CMYK")
        for progressive in (False, True):
            self.assert_decoded_alike(encoded(image, format="JPEG", progressive=progressive))

    def test_image_that_lies_on_a_side(self):
        for format in ("JPEG", "PNG"):
            for orientation in range(1, 9):
                exif = Image.Exif()
                exif[0x0112] = orientation
                data = encoded(picture(), format=format, exif=exif)
                theirs = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
                self.assert_alike(decode(data), array_of(theirs))

    def test_png(self):
        image = picture()
        for png, mode, channels in (
                (image, "RGB", RGB), (image.convert("L"), "L", GREY), (image.convert("L"), "RGB", RGB),
                (image.convert("1"), "RGB", RGB), (image.quantize(200), "RGB", RGB),
                (image.quantize(5), "RGB", RGB), (image.convert("RGBA"), "RGBA", RGBA),
                (image.convert("LA"), "RGBA", RGBA)):
            self.assert_decoded_alike(encoded(png, format="PNG"), mode, channels, 0)

    def test_png_with_transparency(self):
        image = picture()
        image.putalpha(Image.linear_gradient("L").resize(image.size))
        self.assert_decoded_alike(encoded(image, format="PNG"), "RGBA", RGBA, 0)
        self.assert_decoded_alike(encoded(image, format="PNG"), "RGB", RGB, 0)
        palette = picture().quantize(7)
        data = encoded(palette, format="PNG", transparency=bytes([0, 50, 255]))
        self.assert_decoded_alike(data, "RGBA", RGBA, 0)

    def test_png_of_16_bits(self):
        values = np.arange(123 * 87, dtype=np.uint16).reshape(87, 123) * 6
        data = encoded(Image.fromarray(values), format="PNG")
        self.assert_alike(decode(data, GREY)[:, :, 0], (values >> 8).astype(np.uint8), 0)

    def test_resize(self):
        image = picture()
        for width, height in ((50, 40), (61, 87), (224, 224), (7, 5), (123, 20), (300, 30)):
            theirs = image.resize((width, height), Image.BILINEAR)
            self.assert_alike(resize(array_of(image), width, height), array_of(theirs), 0.5)
        for width, height in ((41, 29), (60, 40), (12, 9)):
            theirs = image.resize((width, height), Image.BOX)
            if image.width % width == 0 and image.height % height == 0:
                self.assert_alike(resize(array_of(image), width, height, AREA), array_of(theirs), 0.5)

    def test_cut(self):
        data = encoded(picture(), format="JPEG")
        with self.assertRaisesRegex(ImageError, "data_loss: the JPEG image can't be decoded"):
            decode(data[:len(data) // 2])


if __name__ == "__main__":
    unittest.main()
