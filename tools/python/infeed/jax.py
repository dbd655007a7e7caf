"""Batches as dictionaries of JAX arrays, on one device or sharded over many."""

import jax as _jax

from ._adapted import Adapted, as_batch


class _Form:
    """Turns a Batch into JAX arrays."""

    def __init__(self, sharding):
        self.sharding = sharding

    def __call__(self, batch):
        if self.sharding is None:
            return as_batch(batch).jax()
        columns = as_batch(batch).numpy()
        for name, value in columns.items():
            sharding = (self.sharding.get(name) if isinstance(self.sharding, dict)
                        else self.sharding)
            # Sequences and texts have no sharding; they stay on the host.
            if sharding is not None and hasattr(value, "dtype") and value.dtype != object:
                columns[name] = _jax.make_array_from_process_local_data(sharding, value)
        return columns


def iterable(dataset, *, sharding=None):
    """Returns an iterable of dictionaries of JAX arrays.

    Without sharding they lie on JAX's default CPU device, and share the engine's memory where that begins
    at a multiple of 64 bytes (JAX copies the rest). int64 becomes int32 unless jax_enable_x64 is set:
    that is JAX's rule, and a copy.

    With a sharding (jax.sharding.NamedSharding, or a dictionary of them by column) every process
    gives its rows, and the arrays are global: jax.make_array_from_process_local_data. Give each process its
    part of the data by Dataset.shard(jax.process_count(), jax.process_index()).
    """
    return Adapted(dataset, _Form(sharding))
