"""An iterator's place in Orbax's checkpoints: the two functions that Orbax's StatefulCheckpointable
protocol asks for, with nothing to register. Orbax itself isn't needed."""

import asyncio as _asyncio
import json as _json
import pathlib as _pathlib

FILE_NAME = "infeed_iterator.json"


async def save(iterator, directory):
    """Returns an awaitable that writes the iterator's state of this moment into the directory."""
    text = _json.dumps(iterator.get_state())

    async def write():
        path = await directory.await_creation()
        await _asyncio.to_thread((_pathlib.Path(path) / FILE_NAME).write_text, text)

    return write()


async def load(iterator, directory):
    """Returns an awaitable that sets the iterator to the state in the directory."""

    async def read():
        file = _pathlib.Path(directory) / FILE_NAME
        iterator.set_state(_json.loads(await _asyncio.to_thread(file.read_text)))

    return read()
