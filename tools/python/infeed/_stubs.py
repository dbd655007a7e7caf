"""Writes the types of the package for editors and checkers: python -m infeed._stubs FILE.

The methods of stages are made from the engine's table, so nobody else knows their types.
"""

import inspect
import sys

import infeed
from infeed import _dataset, _iterator, _schema

_HEAD = '''"""The types of the package infeed. Written by infeed._stubs."""

from os import PathLike
from typing import Any, Callable, Literal, Mapping, Sequence

from infeed._core import Batch as Batch, Column as Column, RecordWriter as RecordWriter
from infeed._core import Statistics as Statistics, TuningReport as TuningReport
from infeed._core import batch as batch, example as example
from infeed._errors import Error as Error
from infeed._schema import ColumnSpec as ColumnSpec, Field as Field
from infeed._schema import bytes_ as bytes_, column as column, padded as padded, ragged as ragged
from infeed._ragged import Ragged as Ragged
from infeed._read import read as read
from infeed._dataset import from_generator as from_generator, from_json as from_json
from infeed._dataset import from_numpy as from_numpy, reshard as reshard
from infeed._iterator import Iterator as Iterator
from infeed.world import World as World, agree as agree, detect_world as detect_world
from infeed.world import merge_bad_rows as merge_bad_rows
from infeed._place import BadRow as BadRow, Place as Place, Traced as Traced
from infeed._writing import Converted as Converted, convert as convert

Schema = Mapping[str, Any] | Sequence[ColumnSpec] | str | PathLike[str]

__version__: str

def concatenate(first: Dataset | Sequence[Dataset], *others: Dataset | Sequence[Dataset]) -> Dataset: ...
def zip(first: Dataset | Sequence[Dataset], *others: Dataset | Sequence[Dataset]) -> Dataset: ...
def from_arrow(source: Any, **options: Any) -> Dataset: ...
def from_hf(source: Any, **options: Any) -> Dataset: ...
'''


def _shown(function, indent):
    """The stub of a function that was made from the table."""
    parts = []
    only_names = False
    for parameter in function.__signature__.parameters.values():
        if parameter.name == "self":
            parts.append("self")
        elif parameter.kind is parameter.VAR_POSITIONAL:
            parts.append("*others: Dataset")
            only_names = True
        else:
            if parameter.kind is parameter.KEYWORD_ONLY and not only_names:
                parts.append("*")
                only_names = True
            default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
            parts.append(f"{parameter.name}: {parameter.annotation}{default}")
    return (f"{indent}def {function.__name__}({', '.join(parts)}) -> Dataset:\n"
            f"{_doc(function, indent + '    ')}{indent}    ...\n")


def _doc(thing, indent):
    """Its docstring, as a statement."""
    doc = (inspect.getdoc(thing) or "").replace("\n", "\n" + indent)
    lines = "\n".join(line.rstrip() for line in doc.split("\n"))
    return f'{indent}"""{lines}"""\n'


def _written(function, indent):
    """The stub of a function that was written by hand."""
    signature = str(inspect.signature(function))
    return f"{indent}def {function.__name__}{signature}:\n{_doc(function, indent + '    ')}{indent}    ...\n"


def stub():
    text = _HEAD
    for source in infeed.SOURCES.values():
        shown = _shown if hasattr(source, "__signature__") else _written
        text += "\n" + shown(source, "")
    text += "\nclass Dataset:\n" + _doc(_dataset.Dataset, "    ")
    for name, member in vars(_dataset.Dataset).items():
        if isinstance(member, property):
            text += f"    @property\n    def {name}(self) -> Any:\n{_doc(member, '        ')}        ...\n"
        elif hasattr(member, "__signature__"):
            text += _shown(member, "    ")
        elif inspect.isfunction(member) and not name.startswith("_"):
            text += _written(member, "    ").replace("<lambda>", name).replace("def method(",
                                                                              f"def {name}(")
    text += "    def __iter__(self) -> Iterator: ...\n    def __len__(self) -> int: ...\n"
    assert _iterator and _schema
    return text


if __name__ == "__main__":
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(stub())
