"""torchvision's side of `image`, behind PyTorch's own DataLoader with two workers; run by compare.py
with the machine's own Python and its Debian packages (python3-torchvision), as pytorch_steps.py is.
"""

import glob
import os
import time

import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import io, transforms

import peer

BATCH = 128

# In the workers, too: two processes for two cores.
torch.set_num_threads(1)
torch.set_num_interop_threads(1)

_MEAN = (0.485, 0.456, 0.406)
_DEVIATION = (0.229, 0.224, 0.225)


def _crop_and_flip():
    return [transforms.RandomResizedCrop(224, scale=(0.08, 1.0), ratio=(3 / 4, 4 / 3), antialias=True),
            transforms.RandomHorizontalFlip()]


def _read_tensor(name):
    return io.decode_jpeg(io.read_file(name), io.ImageReadMode.RGB)


def _read_picture(name):
    with Image.open(name) as picture:
        return picture.convert("RGB")


class _Photographs(Dataset):
    def __init__(self, files, read, transform):
        self.files = files
        self.read = read
        self.transform = transform

    def __len__(self):
        return 1000 * len(self.files)  # more than anybody waits for

    def __getitem__(self, index):
        return self.transform(self.read(self.files[index % len(self.files)]))


_NORMALISE = transforms.Normalize(_MEAN, _DEVIATION)


def _normalise_batch(images):
    return _NORMALISE(images.float().div_(255))


def _measure(read, steps, normalise_batch=None):
    def run(request):
        files = sorted(glob.glob(os.path.join(request.data, "photos", "jpeg", "*.jpg")))
        assert len(files) == 1000, len(files)
        dataset = _Photographs(files, read, transforms.Compose(_crop_and_flip() + steps))
        loader = DataLoader(dataset, batch_size=BATCH, num_workers=2, prefetch_factor=2)
        batches = iter(loader)

        def batches_until(seconds):
            count = 0
            start = time.perf_counter()
            while (elapsed := time.perf_counter() - start) < seconds:
                images = next(batches)
                if normalise_batch is not None:
                    images = normalise_batch(images)
                assert images.shape == (BATCH, 3, 224, 224) and images.dtype == torch.float32
                count += 1
            return count / elapsed

        batches_until(2 * request.seconds)
        return BATCH * batches_until(5 * request.seconds)
    return run


def main():
    peer.serve({
        "decode, random resized crop, flip, normalise: batches of 128": {
            "two workers, tensors": _measure(
                _read_tensor, [transforms.ConvertImageDtype(torch.float32), _NORMALISE]),
            "two workers, tensors, normalised as batches": _measure(
                _read_tensor, [], _normalise_batch),
            "two workers, Pillow": _measure(
                _read_picture, [transforms.ToTensor(), _NORMALISE]),
            "two workers, Pillow, normalised as batches": _measure(
                _read_picture, [transforms.PILToTensor()], _normalise_batch),
        }})


if __name__ == "__main__":
    main()
