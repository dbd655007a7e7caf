"""Functions of whole batches in processes of their own (Dataset.map_batches(where="process"))."""

from ._errors import invalid


class ProcessFunction:
    def __init__(self, function, workers):
        raise invalid("map_batches: where='process' isn't here yet; use 'thread' or 'consumer'")
