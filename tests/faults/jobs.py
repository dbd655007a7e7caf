"""What a fault campaign runs: commands on small inputs, and what of their results is always the same."""

import dataclasses
import fnmatch
import gzip
import json
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
sys.path += [str(HERE.parent / "hostile"), str(HERE.parent / "ranks")]

from binary_files import npy, png, tar, write  # noqa: E402
from idx_files import write_half  # noqa: E402
from recordings import LATE_NS, header, late_rows, slow_call, steps, text, usual_stages, window  # noqa: E402

# Of a stage and what it may take; the words hold {in}, {out} and {url}.
PIPELINE = {"stages": [{"stage": "records", "files": "{in}/set/*.tfrecord"},
                       {"stage": "shuffle", "buffer": 50, "seed": 1}, {"stage": "repeat"},
                       {"stage": "parse"}, {"stage": "batch", "size": 16}, {"stage": "prefetch"}],
            "step_us": 500}


@dataclasses.dataclass(frozen=True)
class Job:
    name: str
    words: str
    # Files whose bytes tell the time or the speed; JSON among them is at least whole.
    loose: tuple = ()
    # Files that come and go, and are whole by their own checksums.
    passing: tuple = ()
    # What is printed is the same each time.
    says: bool = False
    # Options with which the command goes on after a failure.
    go_on: str = ""
    # Options with which it goes on when its input has been another one in between.
    anew: str = ""
    # Files that wait for it to go on.
    kept: tuple = ()
    # It takes from a changing file what is there, as those do that say something of it.
    saves_what_is_there: bool = False
    # A folder of inputs beside which the command writes: it gets a copy among the outputs.
    beside: str = ""
    by_url: bool = False
    # Takes a second or more.
    is_long: bool = False
    # Every file is under a name of its own each time.
    is_named_by_time: bool = False

    def list_words(self, places, *more):
        return [word.format(**places) for word in [*self.words.split(), *more]]

    def is_exact(self, name):
        return not self.is_named_by_time and not any(
            fnmatch.fnmatch(name, pattern) for pattern in self.loose + self.passing)

    def is_kept(self, name):
        return any(fnmatch.fnmatch(name, pattern) for pattern in self.kept)

    def is_passing(self, name):
        return self.is_named_by_time or any(fnmatch.fnmatch(name, pattern) for pattern in self.passing)


TRAIN = ("train --train-only --data {in}/idx --work {out}/work --batch 64 --epochs 2 --threads 1 "
         "--no-color --checkpoint-steps 3")

JOBS = [
    Job("convert-csv", "convert {in}/table.csv -o {out}/d --shards 3 --threads 2", anew="--overwrite"),
    Job("convert-split", "convert {in}/table.csv -o {out}/d --shards 2 --seed 5 --validation 0.2 "
        "--compression gzip --json {out}/told.json", loose=("told.json",), anew="--overwrite"),
    Job("convert-jsonl", "convert {in}/lines.jsonl.gz -o {out}/d --compression lz4 --shards 2", anew="--overwrite"),
    Job("convert-npy", "convert {in}/array.npy -o {out}/d", anew="--overwrite"),
    Job("convert-images", "convert {in}/images -o {out}/d --decode-images --shards 2", anew="--overwrite"),
    Job("convert-tar", "convert {in}/examples.tar -o {out}/d --shards 2", anew="--overwrite"),
    Job("convert-idx", "convert --data {in}/idx -o {out}/d --shards 2", anew="--overwrite"),
    Job("convert-share", "convert {in}/table.csv -o {out}/d --shards 4 --shard 1/2 --threads 1"),
    Job("reshard", "reshard {in}/set -o {out}/d --shards 2 --compression gzip --columns a,c", anew="--overwrite"),
    Job("inspect", "inspect {in}/set --json {out}/told.json", says=True),
    Job("batch", "batch --pipeline {in}/pipeline.json --step 5 --trace --json {out}/told.json", says=True),
    Job("verify", "verify {in}/set --json {out}/told.json", loose=("told.json",)),
    Job("repair", "repair {in}/damaged.tfrecord -o {out}/saved.tfrecord --json {out}/told.json --overwrite",
        saves_what_is_there=True),
    Job("index", "index {out}/plain", beside="plain"),
    Job("pace", "pace --seconds 0.05 --pipeline {in}/pipeline.json --json {out}/told.json "
        "--service-times {out}/times.txt", loose=("told.json", "times.txt")),
    Job("step", "step --virtual 50 --slice v3-32 --json {out}/told.json", says=True),
    Job("profile", "profile {in}/run.profile --json {out}/told.json --html {out}/page.html --trace "
        "{out}/trace.json", says=True),
    Job("profile-tools", "profile {in}/run.profile --tensorboard {out}/tb --xprof {out}/xp", is_named_by_time=True, is_long=True),
    Job("profile-pipeline", "profile {out}/new.profile --pipeline {in}/pipeline.json --seconds 0.1",
        passing=("new.profile",)),
    Job("profile-program", "profile {out}/new.profile -- {infeed} pace --seconds 0.05 --pipeline "
        "{in}/pipeline.json", passing=("new.profile",)),
    Job("compare", "compare {in}/run.profile {in}/other.profile --json {out}/told.json", says=True),
    Job("plan", "plan {in}/run.profile --json {out}/told.json --svg {out}/plan.svg", says=True),
    Job("completion", "completion bash", says=True),
    Job("train", TRAIN, go_on="--resume", loose=("work/*.tuning", "work/checkpoints/*.tuning"),
        passing=("work/checkpoints/*", "work/logs/*"), is_long=True),
    Job("inspect-url", "inspect {url}/set/data-00001-of-00003.tfrecord --json {out}/told.json", by_url=True),
    Job("verify-url", "verify {url}/set/data.manifest.json --json {out}/told.json", loose=("told.json",),
        by_url=True),
    Job("reshard-url", "reshard {url}/set/data-00000-of-00003.tfrecord -o {out}/d --compression gzip",
        by_url=True, anew="--overwrite"),
    Job("store", "convert {in}/table.csv -o {url}/store --work {out}/work --shards 2", by_url=True,
        kept=("work/*",)),
]


def make_inputs(infeed, folder):
    """Small ones of each kind, with which a command takes some hundredths of a second."""
    rows = "".join(f"{i},{i * 7 % 1000}.25,note {i % 97}\n" for i in range(600))
    write(folder, "table.csv", "a,b,c\n" + rows)
    lines = "".join(json.dumps({"a": i, "b": [1.5, i], "c": f"line {i}"}) + "\n" for i in range(300))
    write(folder, "lines.jsonl.gz", gzip.compress(lines.encode(), 6, mtime=0))
    write(folder, "array.npy", npy("(50, 3)", "<f4", bytes(600)))
    for i in range(6):
        write(folder, f"images/{'ab'[i % 2]}/{i}.png", png(1, 1))
    write(folder, "examples.tar", tar((f"{i}.txt", b"text %d" % i) for i in range(40)))
    (folder / "idx").mkdir()
    write_half(folder / "idx", "train", 200)
    write_half(folder / "idx", "t10k", 64)
    subprocess.run([infeed, "convert", folder / "table.csv", "-o", folder / "set", "--shards", "3"],
                   check=True, capture_output=True)
    (folder / "plain").mkdir()
    for shard in (folder / "set").glob("*.tfrecord"):
        shutil.copy2(shard, folder / "plain" / shard.name)
    damaged = bytearray((folder / "set" / "data-00000-of-00003.tfrecord").read_bytes())
    damaged[5000] ^= 1
    write(folder, "damaged.tfrecord", bytes(damaged))
    for name, wait_ns in (("run.profile", LATE_NS), ("other.profile", 2 * LATE_NS)):
        write(folder, name, text([header(), usual_stages(), *(window(i, 4) for i in range(20)),
                                  steps(late_rows(400, wait_ns)), *(slow_call(i, i) for i in range(20))]))


def write_pipeline(folder):
    """The pipeline, which names its files by their whole path."""
    write(folder, "pipeline.json", json.dumps(PIPELINE).replace("{in}", str(folder)))


def newest_tensors(folder):
    """What training has come to: the name and the bytes of its newest checkpoint."""
    newest = max(folder.glob("work/checkpoints/*/step-*"), default=None)
    return newest and (newest.name, (newest / "tensors").read_bytes())
