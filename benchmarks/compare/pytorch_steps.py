"""PyTorch's training steps on one thread, the twins of device_rows.cc; run by compare.py with the
machine's own Python, whose Debian package (python3-torch) computes on the CPU alone: the wheels bring
gigabytes of CUDA.
"""

import time

import torch
from torch import nn

import peer

BATCH = 128

torch.set_num_threads(1)
torch.set_num_interop_threads(1)


def _convnet():
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding="same"), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding="same"), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(7 * 7 * 64, 128), nn.ReLU(), nn.Linear(128, 10))


def _step(memory_format, compile_model):
    """Forward, backward, and SGD with momentum; what it computes is used by the next one."""
    torch.manual_seed(1)
    model = _convnet().to(memory_format=memory_format)
    images = torch.rand(BATCH, 1, 28, 28).to(memory_format=memory_format)
    labels = torch.arange(BATCH) % 10
    optimiser = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
    forward = compile_model(model, images)

    def step():
        optimiser.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(forward(images), labels)
        loss.backward()
        optimiser.step()
        return loss.item()

    return step


def _measure(memory_format, compile_model):
    def run(request):
        step = _step(memory_format, compile_model)
        for _ in range(3):
            step()  # traced, and its memory is there
        best = None
        start = time.perf_counter()
        while best is None or time.perf_counter() - start < request.seconds:
            begin = time.perf_counter()
            step()
            taken = time.perf_counter() - begin
            best = taken if best is None else min(best, taken)
        return best * 1e3
    return run


def main():
    peer.serve({"convnet, a step of 128 images, one thread": {
        "eager": _measure(torch.contiguous_format, lambda model, images: model),
        "eager, channels last": _measure(torch.channels_last, lambda model, images: model),
        "traced": _measure(torch.contiguous_format, torch.jit.trace),
        "traced, channels last": _measure(torch.channels_last, torch.jit.trace),
    }})


if __name__ == "__main__":
    main()
