"""A peer's child process: measures the rows it is asked for, one form at a time.

It first says which rows it has and in which forms, then reads a JSON object a line from its input
({"name", "form", "seconds", "data"}) and answers with one ({"value"} or {"error"}). Between the
requests it does nothing, so that it takes no time from others. A measurement is a function
(Request) -> value, or a dictionary of them by the name of the form: every way in which somebody who
knows the peer well would write the row. The best one counts.
"""

import json
import os
import sys
import traceback
from dataclasses import dataclass


@dataclass
class Measured:
    """A value, and figures to print beside it."""
    value: float
    notes: dict


@dataclass
class Request:
    name: str
    form: str
    seconds: float
    data: str


def forms_of(measurement):
    return measurement if isinstance(measurement, dict) else {"as written": measurement}


def serve(measurements):
    # Libraries print to the standard output now and then; the answers get a channel of their own.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    rows = {name: forms_of(measurement) for name, measurement in measurements.items()}
    print(json.dumps({"ready": {name: list(forms) for name, forms in rows.items()}}),
          file=answers, flush=True)
    for line in sys.stdin:
        request = Request(**json.loads(line))
        try:
            value = rows[request.name][request.form](request)
            answer = vars(value) if isinstance(value, Measured) else {"value": value}
        except Exception:  # the parent reports it in the row and goes on with the next one
            answer = {"error": traceback.format_exc(limit=-3)}
        print(json.dumps(answer), file=answers, flush=True)
