"""A process that goes on from places of pipelines: reads {"folder", "pipeline", "state"} a line, and answers with
the rest of the elements."""

import json
import sys

import pipelines


def main():
    """Answers each line of the input."""
    for line in sys.stdin:
        request = json.loads(line)
        dataset = pipelines.PIPELINES[request["pipeline"]](request["folder"])
        with iter(dataset) as iterator:
            iterator.load_state_dict(request["state"])
            print(json.dumps([pipelines.text_of(element) for element in iterator]), flush=True)


if __name__ == "__main__":
    main()
