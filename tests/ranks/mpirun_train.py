#!/usr/bin/env python3
"""`mpirun -n N infeed train` is one training: the weights of one process, whatever happens on the way.

    mpirun_train.py INFEED PLUGIN [TEST...]

A seed (INFEED_TEST_SEED) draws the moment of a signal; each failure prints it. campaign.py kills ranks.
"""

import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from idx_files import write_half
from mpi_job import SECONDS_MAX, Job, environment, mpirun

INFEED, PLUGIN = (str(pathlib.Path(file).resolve()) for file in sys.argv[1:3])
README = pathlib.Path(__file__).parents[2] / "README.md"
SEED = int(os.environ.get("INFEED_TEST_SEED", "20240511"))
EPOCHS = 12
ENVIRONMENT = environment(PLUGIN)
RANDOM = random.Random(SEED)


def checkpoints(work):
    return sorted(work.glob("checkpoints/mlp-float32/step-*"))


def last_step(work):
    found = checkpoints(work)
    return int(found[-1].name.split("-")[1]) if found else 0


def weights(work):
    """All tensors of the newest checkpoint: weights and the optimiser's state."""
    newest = checkpoints(work)[-1]
    return newest.name, (newest / "tensors").read_bytes()


class Training(Job):
    """A running `mpirun -n ranks infeed train`."""

    def __init__(self, data, work, ranks, *options, more=(), feed=0):
        self.work = work
        train = [INFEED, "train", "--train-only", "--data", data, "--work", work, "--batch", "64", "--epochs", EPOCHS,
                 "--threads", "1", "--no-color", *options]
        parts = [(ranks, train)] + ([(feed, [INFEED, "feed"])] if feed else [])
        super().__init__(mpirun(*parts) if ranks > 1 or feed else list(map(str, train)), ENVIRONMENT | dict(more))

    def signal_at(self, step, rank, number):
        """Sends the signal to a rank once a checkpoint of that step, or a later one, is there."""
        until = time.monotonic() + SECONDS_MAX
        while last_step(self.work) < step:
            if not self.is_running() or time.monotonic() > until:
                raise AssertionError(f"it didn't come to step {step}; seed {SEED}; it said:\n{self.end()[1]}")
            time.sleep(0.002)
        os.kill(self.pids()[rank], number)


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

    def test_other_ranks_make_the_batches_from_any_stop_on(self):
        work = self.work("fed")
        for ranks, feed, first, last in ((2, 1, 20, 150), (2, 0, 200, 350)):
            training = Training(self.data, work, ranks, "--checkpoint-steps", "10", "--resume", feed=feed)
            training.signal_at(RANDOM.randrange(first, last), RANDOM.randrange(ranks), signal.SIGTERM)
            status, said = training.end()
            self.assertNotEqual(status, 0, said)
            self.assertIn("stopped", said)
        said = self.train(work, 1, "--resume", feed=2)
        self.assertIn("it went on from step", said)
        self.expect_same(work)

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
        variables = ENVIRONMENT | {
            "PATH": f"{pathlib.Path(INFEED).parent}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(self.work("cache")),
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}
        fed = commands.pop()  # with other ranks behind a colon
        fed[fed.index(":"):fed.index(":")] = ["--data", str(self.data), "--epochs", "1"]
        for epochs, command in zip(("1", "2"), commands):
            command += ["--data", str(self.data), "--epochs", epochs]
        for command in (fed, *commands):
            done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=SECONDS_MAX)
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
        self.train(work, 2, more={"INFEED_PROFILE": str(profile)})
        done = subprocess.run([INFEED, "profile", str(profile), "--no-color"], capture_output=True, text=True,
                              timeout=SECONDS_MAX)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"rank +host +step +input +own +others +last\n +0 .*\n +1 .*\nRank [01] \(")
        self.assertIn("held back", done.stdout)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
