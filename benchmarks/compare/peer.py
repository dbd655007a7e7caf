"""A peer's child process: measures the rows it is asked for, one at a time.

It reads a JSON object a line from its input ({"name", "seconds", "data"}) and answers with one
({"value"} or {"error"}). Between the requests it does nothing, so that it takes no time from others.
A measurement is a function (Request) -> value.
"""

import json
import os
import sys
import traceback
from dataclasses import dataclass


@dataclass
class Request:
    name: str
    seconds: float
    data: str


def serve(measurements):
    # Libraries print to the standard output now and then; the answers get a channel of their own.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    print(json.dumps({"ready": sorted(measurements)}), file=answers, flush=True)
    for line in sys.stdin:
        request = Request(**json.loads(line))
        try:
            answer = {"value": measurements[request.name](request)}
        except Exception:  # the parent reports it in the row and goes on with the next one
            answer = {"error": traceback.format_exc(limit=-3)}
        print(json.dumps(answer), file=answers, flush=True)
