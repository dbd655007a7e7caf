"""Where elements came from (Dataset.at)."""

from dataclasses import dataclass
from typing import Any, List, NamedTuple, Optional


@dataclass(frozen=True)
class Place:
    """The record that a row was made of.

    file: its file; None if that can't be told, and why_not says why.
    record: its number in the file, from 0: also a line, a row, a member.
    offset: where it begins in the file; None where that isn't known.
    count: how many records the row was made of, from this one on.
    """

    file: Optional[str]
    record: Optional[int] = None
    offset: Optional[int] = None
    count: int = 1
    why_not: Optional[str] = None


class BadRow(NamedTuple):
    """A record whose row is invalid (parse(..., keep_rows=True)), and why: code and text of its error."""

    file: str
    record: int
    offset: int
    reason: str


class Traced(NamedTuple):
    """An element, and the places of its rows: one for each row that a batch may have; else one."""

    element: Any
    rows: List[Place]
