"""What is made from the engine's table of stages: the methods of Dataset, and the sources."""

import inspect
import json
import numbers
import os

from . import _core
from ._errors import invalid
from ._place import Place
from ._schema import columns_json

KINDS = {kind["name"]: kind for kind in json.loads(_core.stages())}


class EachFile:
    """Stands for the file in the pipeline that interleave() applies to each: its stages are noted."""

    def __init__(self, stages=()):
        self._stages = list(stages)

    def _then(self, kind, options, inputs=()):
        if inputs:
            raise invalid(f"interleave: {kind} can't stand in the pipeline of one file")
        return EachFile([*self._stages, {"stage": kind, **options}])


# Options that take one number or several.
_NUMBERS = {"Sequence[int]": "int | Sequence[int]", "Sequence[float]": "float | Sequence[float]"}


def file_names(option, given):
    """Returns the pattern, or the list of names."""
    if isinstance(given, (str, bytes, os.PathLike)):
        return os.fsdecode(given)
    try:
        return [os.fsdecode(name) for name in given]
    except TypeError:
        raise invalid(f"{option} is {given!r}; it must be a name, a pattern as 'train-*', or a list of "
                      "names") from None


def _to_option(stage, option, value):
    """Returns the value as JSON has it."""
    declared = option["type"]
    if "Schema" in declared:
        return None if value is None else columns_json(value)
    if declared.startswith("Callable"):
        return _each_file(value)
    if declared.startswith("str | Sequence"):
        return file_names(f"{stage}: {option['name']}", value)
    if isinstance(value, numbers.Real) and declared in _NUMBERS:
        return [value]
    if declared.startswith("Sequence[Place"):
        return [_record_of(place) for place in value]
    if declared == "Mapping[str, str]":
        return {name: os.fsdecode(file) for name, file in value.items()}
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    if option["name"] == "dtype" and not isinstance(value, str):
        return columns_json({"": value})[0]["dtype"]
    return value


def _each_file(function):
    if isinstance(function, list):
        return function
    described = function(EachFile()) if callable(function) else function
    if isinstance(described, EachFile) and described._stages:
        return described._stages
    raise invalid("interleave: give a function from a file to its pipeline, as infeed.records or "
                  "lambda file: infeed.records(file).take(100)")


def _record_of(place):
    """Returns a row of Dataset.at() as leave_out has it, or the pair that was given."""
    if isinstance(place, (tuple, list)) and len(place) == 2:
        return [os.fsdecode(place[0]), place[1]]
    if not isinstance(place, Place):
        raise invalid(f"leave_out: {place!r} is no record: give rows of Dataset.at(), or pairs (file, number)")
    if place.file is None:
        raise invalid(f"leave_out: one of the rows isn't traced to a record: {place.why_not}")
    return {"file": place.file, "record": place.record, "count": place.count}


def json_text(kind, options):
    def convert(value):
        # NumPy's numbers and arrays.
        if hasattr(value, "tolist"):
            return value.tolist()
        raise invalid(f"{kind}: {value!r} is no value of an option")

    try:
        text = json.dumps(options, default=convert, allow_nan=False, ensure_ascii=False)
        text.encode()
        return text
    except UnicodeEncodeError as error:
        raise invalid(f"{kind}: {text[max(0, error.start - 40):error.end + 40]!r} isn't UTF-8, which descriptions, "
                      "being JSON, must be: rename the file, or give a pattern that matches it, as 'folder/*'") from None
    except ValueError as error:
        raise invalid(f"{kind}: an option is NaN or infinite, which descriptions, being JSON, can't have: give a "
                      "finite number that the data doesn't have") from error


def _signature(kind, first):
    """The required options may be given by position; the others have names."""
    parameters = [inspect.Parameter(first, inspect.Parameter.POSITIONAL_OR_KEYWORD)] if first else []
    if kind["role"] in ("joins", "gathers"):
        parameters.append(inspect.Parameter("others", inspect.Parameter.VAR_POSITIONAL))
    named = []
    for option in kind["options"]:
        if "default" not in option and kind["role"] not in ("joins", "gathers"):
            parameters.append(inspect.Parameter(
                option["name"], inspect.Parameter.POSITIONAL_OR_KEYWORD,
                annotation=_NUMBERS.get(option["type"], option["type"])))
        else:
            named.append(inspect.Parameter(
                option["name"], inspect.Parameter.KEYWORD_ONLY,
                default=option.get("default", inspect.Parameter.empty),
                annotation=_NUMBERS.get(option["type"], option["type"])))
    if kind["name"] in ("repeat", "prefetch", "parse", "enumerate"):  # what everybody gives needs no name
        named[0] = named[0].replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return inspect.Signature(parameters + named)


def _documentation(kind):
    lines = [kind["doc"], ""]
    for option in kind["options"]:
        lines.append(f"{option['name']}: {option['doc']}")
    return "\n".join(lines)


def _options_of(kind, arguments):
    """Returns the options that were given, as JSON has them."""
    options = {}
    for option in kind["options"]:
        if option["name"] in arguments:
            options[option["name"]] = _to_option(kind["name"], option, arguments[option["name"]])
    return options


def make_stage_method(kind):
    """Returns the method of Dataset, and of EachFile, that adds a stage of this kind."""
    signature = _signature(kind, "self")

    def method(self, *args, **kwargs):
        arguments = _bind(kind["name"], signature, (self, *args), kwargs)
        return self._then(kind["name"], _options_of(kind, arguments), arguments.get("others", ()))

    return _dressed(method, kind, signature)


def each_of(given):
    """Returns the datasets one by one: they may be given as a list, as in tf.data."""
    return [one for several in given for one in (several if isinstance(several, (list, tuple)) else [several])]


def make_source(kind, begin):
    """Returns the function that makes a Dataset of a source; begin() returns an empty one."""
    signature = _signature(kind, None)

    def source(*args, **kwargs):
        arguments = _bind(kind["name"], signature, args, kwargs)
        inputs = arguments.pop("others", ())
        files = arguments.get("files")
        if isinstance(files, EachFile):
            del arguments["files"]
            return files._then(kind["name"], _options_of(kind, arguments))
        return begin()._then(kind["name"], _options_of(kind, arguments), each_of(inputs))

    return _dressed(source, kind, signature)


def _bind(name, signature, args, kwargs):
    try:
        return signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        known = ", ".join(n for n in signature.parameters if n not in ("self", "others"))
        raise TypeError(f"{name}: {error}; its options are {known}") from None


def _dressed(function, kind, signature):
    function.__name__ = kind["name"]
    function.__qualname__ = kind["name"]
    function.__doc__ = _documentation(kind)
    function.__signature__ = signature
    function.__module__ = "infeed"
    return function
