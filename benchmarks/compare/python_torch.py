"""PyTorch's DataLoader on images that lie in memory: as its tutorials write it, as its experts do, and with a
transform for each item, as most people have it."""

import functools

import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler, TensorDataset

import peer
from python_loop import forever, image_arrays, images_a_second, of_both_sizes

torch.set_num_threads(1)


@functools.lru_cache(None)
def _tensors(data):
    images, labels = image_arrays(peer.Request("", "", 0, data))
    return TensorDataset(torch.from_numpy(images), torch.from_numpy(labels))


class _Items(Dataset):
    """An image to floats, one at a time."""

    def __init__(self, tensors):
        self.tensors = tensors

    def __len__(self):
        return len(self.tensors)

    def __getitem__(self, index):
        image, label = self.tensors[index]
        return image.float() / 255, label


def _forms(rows, loader):
    def measure(workers):
        options = {"num_workers": workers, "persistent_workers": workers > 0}
        return lambda request: images_a_second(
            lambda: forever(lambda made=loader(_tensors(request.data), rows, options): iter(made)),
            rows, request)

    return {f"{workers} workers": measure(workers) for workers in (0, 1, 2)}


def _tensor_loader(tensors, rows, options):
    return DataLoader(tensors, batch_size=rows, shuffle=True, drop_last=True, **options)


def _index_loader(tensors, rows, options):
    sampler = BatchSampler(RandomSampler(tensors), rows, drop_last=True)
    return DataLoader(tensors, sampler=sampler, batch_size=None, **options)


def _item_loader(tensors, rows, options):
    return DataLoader(_Items(tensors), batch_size=rows, shuffle=True, drop_last=True, **options)


LOADERS = {"tensors": _tensor_loader, "indices": _index_loader, "items": _item_loader}


def main(kind):
    peer.serve(of_both_sizes(lambda rows: _forms(rows, LOADERS[kind])))


if __name__ == "__main__":
    import sys
    main(sys.argv[1])
