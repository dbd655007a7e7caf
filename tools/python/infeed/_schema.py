"""The columns of records, as Python writes them."""

import contextlib
import json
import math
import operator
import os
from dataclasses import dataclass, fields
from typing import Any, Mapping, Optional, Tuple

from ._errors import invalid


@dataclass(frozen=True)
class ColumnSpec:
    """The type of a column.

    name: its name.
    dtype: "uint8", ..., "float32", "bfloat16", or "bytes".
    shape: the shape of a row, or of an item of a ragged or padded row.
    kind: "dense", "ragged", "padded", "bytes" or "ragged_bytes".
    width: of a padded column; None: that of the batch's longest row.
    ragged_levels: levels of a ragged column.
    padding: of a padded column, the value that fills rows up; "nan", "inf" and "-inf" are texts.
    default: stands in for rows that lack the column: a number, a text or a tuple; None: they are errors.
    row_lengths, row_splits, feature_list, guess: as in the JSON of a schema (ColumnSchema).
    """

    name: str
    dtype: str
    shape: Tuple[int, ...] = ()
    kind: str = "dense"
    width: Optional[int] = None
    ragged_levels: int = 1
    padding: Any = 0
    default: Any = None
    row_lengths: Optional[str] = None
    row_splits: Optional[str] = None
    feature_list: bool = False
    guess: bool = False


@dataclass(frozen=True)
class Field:
    """A column of a schema, made by column(), ragged(), padded() or bytes_()."""

    members: Tuple[Tuple[str, Any], ...]


def _dtype_name(dtype):
    if isinstance(dtype, str):
        return dtype
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None)
    if name is None:
        name = str(dtype)
    # torch.float32 and jax.numpy.float32 end with the name.
    return {"float": "float64", "int": "int64", "bool_": "bool"}.get(name, name.split(".")[-1])


def _shape(given):
    """Returns the extents of a row; one number is a shape of one axis."""
    with contextlib.suppress(TypeError):
        return [operator.index(given)]
    try:
        return [operator.index(extent) for extent in given]
    except TypeError:
        raise invalid(f"a shape is {given!r}; it must be a tuple of whole numbers, as (28, 28)") from None


def _json_number(value):
    """Returns the value as descriptions have it: JSON's own bools and NaN are no numbers there."""
    if hasattr(value, "tolist"):  # NumPy's
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_json_number(each) for each in value]
    if isinstance(value, bool):
        return int(value)
    return str(float(value)) if isinstance(value, float) and not math.isfinite(value) else value


def _field(**members):
    if "dtype" in members:
        members["dtype"] = _dtype_name(members["dtype"])
    if "shape" in members:
        members["shape"] = _shape(members["shape"])
    for key in ("default", "padding"):
        if key in members:
            members[key] = _json_number(members[key])
    return Field(tuple((key, value) for key, value in members.items() if value is not None))


def column(dtype, shape=(), default=None):
    """A dense column: each row has the shape. `default` stands in for rows that lack it."""
    return _field(dtype=dtype, shape=shape, default=default)


def ragged(dtype, shape=(), levels=1, row_lengths=None, default=None):
    """Rows of any number of items, each of the shape."""
    return _field(kind="ragged", dtype=dtype, shape=shape, ragged_levels=levels,
                  row_lengths=row_lengths, default=default)


def padded(dtype, width=None, padding=0, shape=(), default=None):
    """Rows filled up to the width or, without one, to the batch's longest row."""
    return _field(kind="padded", dtype=dtype, width=width, padding=padding, shape=shape,
                  default=default)


def bytes_(default=None):
    """One value of bytes in each row. `default` is a text, or its bytes in UTF-8, since descriptions are JSON."""
    if isinstance(default, bytes):
        try:
            default = default.decode()
        except UnicodeDecodeError:
            raise invalid(f"bytes_: the default {default!r} isn't UTF-8, which descriptions, being JSON, must "
                          "be") from None
    return _field(kind="bytes", default=default)


def _column_json(name, given):
    if isinstance(given, Field):
        return {"name": name, **dict(given.members)}
    if isinstance(given, ColumnSpec):
        members = {each.name: getattr(given, each.name) for each in fields(given)
                   if getattr(given, each.name) != each.default}
        for key in ("default", "padding"):
            if key in members:
                members[key] = _json_number(members[key])
        return {**members, "name": name}
    if isinstance(given, (tuple, list)):
        if len(given) != 2:
            raise invalid(f"the column {name!r} is {given!r}; a tuple is (dtype, shape), as "
                          "('uint8', (28, 28))")
        return {"name": name, "dtype": _dtype_name(given[0]), "shape": _shape(given[1])}
    if given is bytes or given == "bytes":
        return {"name": name, "kind": "bytes"}
    if given is str:
        return {"name": name, "kind": "bytes"}
    return {"name": name, "dtype": _dtype_name(given)}


_GIVE = "a mapping, as {'image': ('uint8', (784,)), 'label': 'int64', 'text': 'bytes'}"


def columns_json(schema):
    """Returns the list of columns of the JSON form.

    A schema is a mapping of names to a dtype, (dtype, shape), "bytes" or what column(), ragged(),
    padded() and bytes_() return; or a list of ColumnSpecs; or the JSON text of a schema, or a file
    with it.
    """
    if isinstance(schema, os.PathLike) or (isinstance(schema, str) and not schema.lstrip().startswith(("{", "["))):
        try:
            with open(schema, encoding="utf-8") as file:
                schema = file.read()
        except FileNotFoundError:
            raise invalid(f"the schema {os.fspath(schema)!r} is no JSON, and there is no file of that name; give {_GIVE}") from None
    if isinstance(schema, str):
        parsed = json.loads(schema)
        return parsed["columns"] if isinstance(parsed, dict) and "columns" in parsed else parsed
    if isinstance(schema, Mapping):
        return [_column_json(name, given) for name, given in schema.items()]
    if isinstance(schema, (list, tuple)):
        return [_column_json(spec.name, spec) if isinstance(spec, ColumnSpec) else spec
                for spec in schema]
    raise invalid(f"the schema is {schema!r}; give {_GIVE}")


def element_spec(columns_text):
    """Returns {name: ColumnSpec} of a schema's JSON, or None."""
    if columns_text is None:
        return None
    spec = {}
    for each in json.loads(columns_text)["columns"]:
        each.setdefault("dtype", "bytes")
        spec[each["name"]] = ColumnSpec(
            **{key: tuple(value) if isinstance(value, list) else value for key, value in each.items()})
    return spec
