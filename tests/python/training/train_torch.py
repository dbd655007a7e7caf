"""Trains a classifier with PyTorch. Stopped at any moment, it goes on from its last checkpoint to the same losses."""

import os
import sys

import torch

import infeed

data, folder, epochs = sys.argv[1], sys.argv[2], 3
batches = (infeed.read(f"{data}/*.tfrecord*").shuffle(200, seed=1).repeat(epochs)
           .parse({"image": ("uint8", (48,)), "label": "int64"}).batch(32).prefetch().torch())
torch.manual_seed(0)
model = torch.nn.Linear(48, 10)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
iterator = iter(batches)
checkpoint = f"{folder}/checkpoint.pt"
if os.path.exists(checkpoint):
    saved = torch.load(checkpoint)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    iterator.load_state_dict(saved["data"])
for batch in iterator:
    loss = torch.nn.functional.cross_entropy(model(batch["image"] / 255), batch["label"] % 10)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(iterator.position, f"{loss.item():.6f}", flush=True)
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                "data": iterator.state_dict()}, checkpoint + ".new")
    os.replace(checkpoint + ".new", checkpoint)
