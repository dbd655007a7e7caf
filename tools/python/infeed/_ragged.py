"""Sequences of several lengths, for libraries that have no ragged arrays."""

from typing import Any, NamedTuple, Tuple


class Ragged(NamedTuple):
    """Rows of several lengths: all items behind each other, and where the rows begin.

    The items of row i are values[row_splits[0][i]:row_splits[0][i + 1]]. With more levels,
    row_splits[0] cuts the sequences of row_splits[1], and so on.
    """

    values: Any
    row_splits: Tuple[Any, ...]

    def to_list(self):
        """Returns the rows as lists.

        >>> Ragged([7, 8, 9], ([0, 2, 2, 3],)).to_list()
        [[7, 8], [], [9]]
        """
        rows = self.values.tolist() if hasattr(self.values, "tolist") else list(self.values)
        for splits in reversed(self.row_splits):
            splits = splits.tolist() if hasattr(splits, "tolist") else splits
            rows = [rows[first:end] for first, end in zip(splits, splits[1:])]
        return rows
