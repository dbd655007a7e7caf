#!/usr/bin/env python3
"""`mpirun -n N infeed train` is one training: the weights of one process, whatever happens on the way.

    mpirun_train.py INFEED PLUGIN [TEST...]

A seed (INFEED_TEST_SEED) draws the moments of kills; each failure prints it.
"""

import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

INFEED, PLUGIN = (str(pathlib.Path(file).resolve()) for file in sys.argv[1:3])
README = pathlib.Path(__file__).parents[2] / "README.md"
SEED = int(os.environ.get("INFEED_TEST_SEED", "20240511"))
TURNS = int(os.environ.get("INFEED_MPIRUN_TURNS", "1"))
EPOCHS = 12
SECONDS_MAX = 60
ENVIRONMENT = os.environ | {
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "INFEED_MPI_PLUGIN": PLUGIN, "LC_ALL": "C"}
RANDOM = random.Random(SEED)


def write_half(folder, prefix, count):
    drawn = random.Random(prefix)
    labels = bytes(drawn.randrange(10) for _ in range(count))
    images = bytearray()
    for label in labels:
        image = bytearray(drawn.randbytes(28 * 28))
        image[label * 56:label * 56 + 56] = b"\xc0" * 56
        images += image
    (folder / f"{prefix}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 0x803, count, 28, 28) + images)
    (folder / f"{prefix}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, count) + labels)


def checkpoints(work):
    return sorted(work.glob("checkpoints/mlp-float32/step-*"))


def last_step(work):
    found = checkpoints(work)
    return int(found[-1].name.split("-")[1]) if found else 0


def weights(work):
    """All tensors of the newest checkpoint: weights and the optimiser's state."""
    newest = checkpoints(work)[-1]
    return newest.name, (newest / "tensors").read_bytes()


class Training:
    """A running `mpirun -n ranks infeed train`."""

    def __init__(self, data, work, ranks, *options, mpi=(), environment=(), feed=0):
        self.work = work
        command = [INFEED, "train", "--train-only", "--data", str(data), "--work", str(work), "--batch", "64",
                   "--epochs", str(EPOCHS), "--threads", "1", "--no-color", *options]
        if ranks > 1 or feed:
            command = ["mpirun", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", *mpi,
                       "-n", str(ranks), *command]
        if feed:
            command += [":", "-n", str(feed), INFEED, "feed"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        env=ENVIRONMENT | dict(environment), start_new_session=True)

    def end(self):
        """The exit status and all that was said."""
        try:
            said, _ = self.process.communicate(timeout=SECONDS_MAX)
        except subprocess.TimeoutExpired:
            for rank in self.pids().values():
                os.kill(rank, signal.SIGKILL)
            os.killpg(self.process.pid, signal.SIGKILL)
            said, _ = self.process.communicate()
            raise AssertionError(f"it hangs; seed {SEED}; it said:\n{said}") from None
        return self.process.returncode, said

    def pids(self):
        """The process of each rank."""
        found = {}
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                parent = int(re.search(r"^PPid:\s*(\d+)", (folder / "status").read_text(), re.M)[1])
                if parent != self.process.pid:
                    continue
                variables = (folder / "environ").read_bytes().split(b"\0")
            except (OSError, TypeError):
                continue
            for variable in variables:
                name, _, value = variable.partition(b"=")
                if name == b"OMPI_COMM_WORLD_RANK":
                    found[int(value)] = int(folder.name)
        return found

    def signal_at(self, step, rank, number):
        """Sends the signal to a rank once a checkpoint of that step, or a later one, is there."""
        until = time.monotonic() + SECONDS_MAX
        while last_step(self.work) < step:
            if self.process.poll() is not None or time.monotonic() > until:
                raise AssertionError(f"it didn't come to step {step}; seed {SEED}; it said:\n{self.end()[1]}")
            time.sleep(0.002)
        pid = self.pids()[rank]
        os.kill(pid, number)
        return pid


class MpirunTrain(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="infeed-mpirun-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.data = cls.folder / "data"
        cls.data.mkdir()
        write_half(cls.data, "train", 3000)
        write_half(cls.data, "t10k", 400)
        cls.expected = cls.train_alone()

    @classmethod
    def train_alone(cls):
        work = cls.folder / "alone"
        status, said = Training(cls.data, work, 1).end()
        assert status == 0, said
        return weights(work)

    def work(self, name):
        return self.folder / name

    def train(self, work, ranks, *options, **more):
        status, said = Training(self.data, work, ranks, *options, **more).end()
        self.assertEqual(status, 0, said)
        return said

    def expect_same(self, work):
        self.assertEqual(weights(work)[0], self.expected[0], f"seed {SEED}")
        self.assertTrue(weights(work)[1] == self.expected[1], f"the weights differ; seed {SEED}")

    def test_ranks_give_the_weights_of_one_process(self):
        for ranks in (2, 4):
            work = self.work(f"ranks-{ranks}")
            said = self.train(work, ranks)
            self.assertIn(f"{ranks} ranks train together", said)
            self.assertEqual(said.count("Test accuracy"), 1, said)
            self.expect_same(work)

    def test_other_ranks_make_the_batches(self):
        for ranks, feed in ((1, 2), (2, 1)):
            work = self.work(f"fed-{ranks}-{feed}")
            self.train(work, ranks, feed=feed)
            self.expect_same(work)

    def fail(self, name, number, how):
        """A rank fails at a drawn step; then three ranks go on."""
        for turn in range(TURNS):
            work = self.work(f"{name}-{turn}")
            rank, step = RANDOM.randrange(1, 4), RANDOM.randrange(20, 300)
            training = Training(self.data, work, 4, "--checkpoint-steps", "10")
            training.signal_at(step, rank, number)
            begun = time.monotonic()
            status, said = training.end()
            seconds = time.monotonic() - begun
            place = f"rank {rank} from step {step}; seed {SEED}; it said:\n{said}"
            self.assertNotEqual(status, 0, place)
            self.assertRegex(said, how(rank), place)
            self.assertLess(seconds, 20, place)
            self.assertGreaterEqual(last_step(work), step, place)
            self.assertNotEqual(checkpoints(work)[-1].name, self.expected[0], place)
            said = self.train(work, 3, "--resume")
            self.assertIn("it went on from step", said)
            self.expect_same(work)

    def test_a_killed_rank_is_named_and_three_go_on(self):
        self.fail("killed", signal.SIGKILL, lambda rank: rf"rank {rank}\b")

    def test_a_stopped_rank_is_named_and_three_go_on(self):
        self.fail("stopped", signal.SIGSTOP, lambda rank: rf"rank {rank} has not answered for")

    def test_all_stop_when_one_is_told_to(self):
        work = self.work("told")
        rank = RANDOM.randrange(4)
        training = Training(self.data, work, 4, "--checkpoint-steps", "10")
        training.signal_at(RANDOM.randrange(20, 300), rank, signal.SIGTERM)
        status, said = training.end()
        self.assertNotEqual(status, 0, said)
        self.assertIn("stopped", said)
        self.assertNotEqual(checkpoints(work)[-1].name, self.expected[0], said)
        self.train(work, 1, "--resume")
        self.expect_same(work)

    def test_the_readmes_commands(self):
        section = README.read_text().split("## Beyond one machine\n")[1].split("\n## ")[0]
        commands = [line.split("#")[0].split() for line in section.splitlines()
                    if line.startswith("mpirun") and "infeed train" in line]
        self.assertEqual(len(commands), 3)
        environment = ENVIRONMENT | {
            "PATH": f"{pathlib.Path(INFEED).parent}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(self.work("cache")),
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}
        fed = commands.pop()  # with other ranks behind a colon
        fed[fed.index(":"):fed.index(":")] = ["--data", str(self.data), "--epochs", "1"]
        for epochs, command in zip(("1", "2"), commands):
            command += ["--data", str(self.data), "--epochs", epochs]
        for command in (fed, *commands):
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS_MAX)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("it went on from step", done.stdout)

    def test_another_seed_at_one_rank_is_refused(self):
        work = self.work("seeds")
        script = 'exec "$0" "$@" --seed "$((OMPI_COMM_WORLD_RANK == 1 ? 7 : 42))"'
        command = ["mpirun", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "-n", "2", "sh", "-c", script,
                   INFEED, "train", "--data", str(self.data), "--work", str(work)]
        done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=SECONDS_MAX)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("the ranks differ in 'training': rank 1 has", done.stdout + done.stderr)

    def test_each_rank_records_for_the_profiler(self):
        work = self.work("profile")
        profile = self.folder / "run.profile"
        self.train(work, 2, environment={"INFEED_PROFILE": str(profile)})
        done = subprocess.run([INFEED, "profile", str(profile), "--no-color"], capture_output=True, text=True,
                              timeout=SECONDS_MAX)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"rank +host +step +input +own +others +last\n +0 .*\n +1 .*\nRank [01] \(")
        self.assertIn("held back", done.stdout)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
