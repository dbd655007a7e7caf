"""The programs under test, as run.sh names them."""

import json
import os
import signal
import subprocess

FASHION_MNIST = "/usr/share/datasets/fashion-mnist"
# More with sanitizers (CMakeLists.txt).
SECONDS_MAX = float(os.environ.get("INFEED_PROGRAM_SECONDS_MAX", 240))


def infeed(*arguments):
    """Runs the infeed command; returns what it printed."""
    return _run([os.environ["INFEED_PROGRAM"], *arguments])


def read_with_infeed(file):
    """Records of a file as infeed reads them: {"size", "crc32c", "features"} each."""
    text = _run([os.environ["INFEED_INTEROP"], "read", str(file)])
    return [json.loads(line) for line in text.splitlines()]


def read_sequences_with_infeed(file):
    """SequenceExamples of a file as infeed reads them: {"features", "lists"} each."""
    text = _run([os.environ["INFEED_INTEROP"], "sequences", str(file)])
    return [json.loads(line) for line in text.splitlines()]


def rewrite_sequences_with_infeed(file, sequences):
    """What read_sequences_with_infeed() gave, encoded anew by infeed."""
    text = "".join(json.dumps(sequence) + "\n" for sequence in sequences)
    _run([os.environ["INFEED_INTEROP"], "rewrite-sequences", str(file)], input=text)


def write_with_infeed(file, records, compression):
    text = "".join(record.hex() + "\n" for record in records)
    _run([os.environ["INFEED_INTEROP"], "write", str(file), compression], input=text)


def columns_of_messages(file, descriptor_set, message, fields):
    """Columns of protobuf messages: {"values", "splits"} by field."""
    return json.loads(_run([os.environ["INFEED_MESSAGES"], str(file), descriptor_set, message, *fields]))


def drawn_pipelines(seed, count, elements_max):
    """Lines of JSON: random pipelines, and what infeed makes of them."""
    return _run([os.environ["INFEED_DRAWN_PIPELINES"], str(seed), str(count),
                 str(elements_max)]).splitlines()


def profiles(kind, folder):
    """Every output of a profile of a run that no machine recorded."""
    return _run([os.environ["INFEED_PROFILES"], kind, str(folder)])


def write_events_with_infeed(folder, events):
    """Writes {"kind", "tag", "step", "what"} each into a new event file; returns what was printed."""
    text = "".join(json.dumps(event) + "\n" for event in events)
    return _run([os.environ["INFEED_EVENTS"], "write", str(folder)], input=text)


def train_with_curves(folder, killed_at=0):
    """A small training, which goes on where the last one in the folder was killed."""
    command = [os.environ["INFEED_EVENTS"], "train", str(folder), str(killed_at)]
    if not killed_at:
        return _run(command)
    status = subprocess.run(command, timeout=SECONDS_MAX, check=False).returncode
    if status != -signal.SIGKILL:
        raise AssertionError(f"{' '.join(command)} ended with status {status} instead of being killed")
    return ""


def train_with_infeed(model, folder, batch, rate):
    """The losses of a training on images.f32 and labels.i32; leaves the first weights in the folder."""
    text = _run([os.environ["INFEED_TRAINING"], model, str(folder), str(batch), str(rate)])
    return [float(line) for line in text.splitlines()]


def _run(command, **more):
    done = subprocess.run(command, text=True, capture_output=True, timeout=SECONDS_MAX, **more)
    if done.returncode != 0:
        raise AssertionError(
            f"{' '.join(command[:2])} ended with status {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout
