"""World, detect_world, shard(world) and agree: made-up variables, threads as processes, and torch.distributed
(gloo) with two processes where PyTorch is installed."""

import importlib.util
import json
import os
import pickle
import subprocess
import sys
import tempfile
import textwrap
import threading
import unittest
from unittest import mock

import numpy as np

import data
import infeed

HAS_TORCH = importlib.util.find_spec("torch") is not None
SECONDS_MAX = 120
HERE = os.path.dirname(os.path.abspath(__file__))
LAUNCHERS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "GROUP_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
             "PMI_RANK", "PMI_SIZE", "PMIX_RANK", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_STEP_ID",
             "SLURM_STEP_NUM_TASKS", "JOB_COMPLETION_INDEX", "JOB_COMPLETIONS")


def variables(**chosen):
    """Has these variables, and none of another launcher."""
    kept = {name: value for name, value in os.environ.items() if name not in LAUNCHERS}
    return mock.patch.dict(os.environ, {**kept, **chosen}, clear=True)


def numbers(seed=1):
    return infeed.range(120).shuffle(30, seed=seed)


def rows_of(dataset):
    return [batch["value"].numpy().tolist() for batch in dataset.iterate(epoch=0)]


class Group:
    """Processes as threads: gather(i) is the all_gather of process i."""

    def __init__(self, size):
        self.barrier = threading.Barrier(size)
        self.texts = [None] * size

    def gather(self, i):
        def all_gather(own):
            self.texts[i] = own
            self.barrier.wait(SECONDS_MAX)
            return list(self.texts)

        return all_gather

    def run(self, call):
        """Calls call(i, all_gather) in each process; returns what they raised, failed assertions too."""
        raised = [None] * len(self.texts)

        def body(i):
            try:
                call(i, self.gather(i))
            except Exception as error:  # pylint: disable=broad-exception-caught
                raised[i] = error

        threads = [threading.Thread(target=body, args=(i,)) for i in range(len(self.texts))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return raised


class Worlds(unittest.TestCase):
    def test_a_world_is_a_value_that_is_checked(self):
        world = infeed.World(1, 4)
        self.assertEqual((world.rank, world.size), (1, 4))
        self.assertEqual(world, infeed.World(rank=1, size=4, source="somebody"))
        self.assertEqual(pickle.loads(pickle.dumps(world)), world)
        self.assertEqual(infeed.World(), infeed.World(0, 1))
        self.assertIs(type(infeed.World(np.int64(1), np.int32(4)).rank), int)
        for rank, size in ((4, 4), (-1, 4), (0, 0)):
            with self.assertRaisesRegex(infeed.Error, f"rank {rank} of {size}"):
                infeed.World(rank, size)
        with self.assertRaisesRegex(TypeError, "whole numbers"):
            infeed.World("1", 4)

    def test_the_variables_of_launchers(self):
        with variables():
            self.assertEqual(infeed.detect_world(), infeed.World(0, 1))
            self.assertEqual(infeed.detect_world().source, "no launcher")
        with variables(RANK="2", WORLD_SIZE="4"):
            self.assertEqual(infeed.detect_world(), infeed.World(2, 4))
            self.assertIn("torchrun", str(infeed.detect_world()))
        with variables(JOB_COMPLETION_INDEX="3"):
            self.assertEqual(infeed.detect_world(size=5), infeed.World(3, 5))
            for size in [0, -1, "5"]:
                with self.assertRaisesRegex(infeed.Error, f"detect_world: size is {size!r}; it must be a whole number"):
                    infeed.detect_world(size)
        for chosen in ({"RANK": "2"}, {"RANK": "1", "WORLD_SIZE": "2", "PMI_RANK": "0", "PMI_SIZE": "2"},
                       {"RANK": "x", "WORLD_SIZE": "2"}):
            with variables(**chosen), self.assertRaises(infeed.Error) as raised:
                infeed.detect_world()
            self.assertEqual(raised.exception.code, "invalid_argument")
            self.assertIn("RANK", raised.exception.message)

    def test_the_frameworks_come_first_and_must_agree(self):
        torch = mock.Mock(**{"is_available.return_value": True, "is_initialized.return_value": True,
                             "get_rank.return_value": 1, "get_world_size.return_value": 2})
        jax = mock.Mock(**{"distributed.is_initialized.return_value": True, "process_index.return_value": 1,
                           "process_count.return_value": 2})
        with mock.patch.dict(sys.modules, {"torch.distributed": torch, "jax": jax}), variables():
            self.assertEqual(infeed.detect_world(), infeed.World(1, 2))
            self.assertEqual(infeed.detect_world().source, "torch.distributed")
            jax.process_index.return_value = 0
            with self.assertRaisesRegex(infeed.Error, "torch.distributed says rank 1 of 2, and jax.distributed rank 0"):
                infeed.detect_world()
            jax.distributed.is_initialized.return_value = False
            self.assertEqual(infeed.detect_world(), infeed.World(1, 2))
            with variables(RANK="0", WORLD_SIZE="2"), self.assertRaisesRegex(infeed.Error, "torchrun"):
                infeed.detect_world()

    def test_the_shares_of_any_world_are_the_whole(self):
        whole = rows_of(numbers().batch(12))
        for size in (1, 2, 3, 4):
            shares = [rows_of(numbers().shard(infeed.World(rank, size)).batch(12 // size)) for rank in range(size)]
            together = [sorted(sum(parts, [])) for parts in zip(*shares)]
            self.assertEqual(together, [sorted(batch) for batch in whole], size)
        self.assertEqual(numbers().shard(infeed.World(1, 2)), numbers().shard(2, 1))
        self.assertEqual(numbers().shard(count=2, index=1), numbers().shard(2, 1))
        with self.assertRaisesRegex(TypeError, "leave index out"):
            numbers().shard(infeed.World(1, 2), 1)
        with self.assertRaisesRegex(TypeError, "an infeed.World"):
            numbers().shard(2)


class Agreement(unittest.TestCase):
    def agree(self, make, size=3, ranks=None, **values):
        """Lets processes agree on make(i), with values(i); returns what they raised."""
        def call(i, all_gather):
            world = infeed.World((ranks or range(size))[i], size if ranks is None else max(ranks) + 1)
            own = {name: value(i) if callable(value) else value for name, value in values.items()}
            self.assertEqual(infeed.agree(make(i, world), world, group=all_gather, **own), world)

        return Group(size).run(call)

    def test_equal_processes_agree(self):
        raised = self.agree(lambda _, world: numbers().shard(world).batch(4), seed=42, learning_rate=0.1)
        self.assertEqual(raised, [None] * 3)
        self.assertEqual(self.agree(lambda *_: None, seed=1), [None] * 3)
        # Two of model parallelism read the same rows.
        self.assertEqual(self.agree(lambda _, world: numbers().shard(world), size=4, ranks=[0, 0, 1, 1]), [None] * 4)

    def test_what_differs_names_the_process(self):
        def check(raised, *texts):
            for error in raised:
                self.assertIsInstance(error, infeed.Error)
                self.assertEqual(error.code, "failed_precondition")
                for text in texts:
                    self.assertIn(text, error.message)

        check(self.agree(lambda i, world: numbers(seed=1 + i // 2).shard(world)), "fingerprint", "process 2 (rank 2) has",
              "process 0 has")
        check(self.agree(lambda i, world: infeed.range(9).shuffle(3).shard(world)), "no seed, so that each process")
        check(self.agree(lambda *_: None, seed=lambda i: 40 + i // 2), "seed is not the same", "process 2 (rank 2) has 41",
              "process 0 has 40")
        check(self.agree(lambda *_: None, ranks=[0, 1, 1]), "3 processes have the ranks [0, 1, 1] of 2")
        check(self.agree(lambda *_: None, ranks=[1, 1, 1]), "each rank must be there equally often")

    def test_files_decide_and_folders_do_not(self):
        with tempfile.TemporaryDirectory() as folder:
            for i in range(3):
                os.mkdir(os.path.join(folder, str(i)))
                np.save(os.path.join(folder, str(i), "x.npy"), np.arange(10))
            def make(i, world):
                return infeed.npy(os.path.join(folder, str(i), "x.npy")).shard(world)
            self.assertEqual(self.agree(make), [None] * 3)
            np.save(os.path.join(folder, "1", "x.npy"), np.arange(10) + 1)
            for error in self.agree(make):
                self.assertIn("process 1 (rank 1) has", error.message)

    def test_a_process_that_fails_tells_the_others(self):
        def make(i, world):
            return infeed.range(9).shard(world) if i else mock.Mock(_core=None)

        raised = Group(2).run(lambda i, all_gather: infeed.agree(
            make(i, infeed.World(i, 2)), infeed.World(i, 2), group=all_gather) if i else self.fail_to_agree(all_gather))
        self.assertIn("process 0 failed", raised[1].message)

    def fail_to_agree(self, all_gather):
        with self.assertRaises(AttributeError):
            infeed.agree(mock.Mock(_core=None), infeed.World(0, 2), group=all_gather)

    def test_alone_and_without_a_group(self):
        with variables():
            self.assertEqual(infeed.agree(numbers(), seed=1), infeed.World(0, 1))
        with self.assertRaisesRegex(infeed.Error, "no group to ask the others"):
            infeed.agree(numbers(), infeed.World(0, 2))
        with self.assertRaisesRegex(TypeError, "mpi4py"):
            infeed.agree(numbers(), infeed.World(0, 2), group=3)
        communicator = mock.Mock(allgather=lambda own: [own])
        infeed.agree(numbers(), infeed.World(0, 1), group=communicator)


class BadRecords(unittest.TestCase):
    """1 % of the records are damaged, or don't parse: their rows stay."""

    RECORDS, GLOBAL_BATCH, PASSES = 450, 12, 2
    DAMAGED, UNPARSED = (80, 333), (17, 217, 417)

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.file = os.path.join(cls.folder.name, "rows.tfrecord")
        examples = [data.example({"id": [b"no number"] if i in cls.UNPARSED else [i]}) for i in range(cls.RECORDS)]
        data.write_records(cls.file, examples)
        with open(cls.file, "r+b") as file:
            for record in cls.DAMAGED:
                at = sum(len(example) + 16 for example in examples[:record]) + 14
                file.seek(at)
                flipped = bytes([file.read(1)[0] ^ 1])
                file.seek(at)
                file.write(flipped)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def host(self, rank, size):
        world = infeed.World(rank, size)
        return (infeed.indexed_records(self.file, without_index="scan").global_shuffle(seed=5).repeat(self.PASSES)
                .shard(world).parse({"id": "int64"}, keep_rows=True).batch(self.GLOBAL_BATCH // size).prefetch())

    @staticmethod
    def ids(batch):
        return [int(i) if ok else -1 for i, ok in zip(batch["id"].numpy(), batch["valid"].numpy())]

    def run_hosts(self, size, states=None, steps=None):
        """Returns the rows of all hosts in the order of their stream, a host's place, and the merged bad rows."""
        rows, place, bad = [[] for _ in range(size)], None, [[] for _ in range(size)]
        for rank in range(size):
            dataset = self.host(rank, size)
            resume = None if states is None else infeed.reshard(states, dataset)
            with dataset.iterate(epoch=None if resume else 0, resume=resume) as batches:
                for step, batch in enumerate(batches):
                    rows[rank] += self.ids(batch)
                    if step + 1 == steps:
                        break
                place, bad[rank] = batches.state_dict(), batches.bad_rows
        merged = Group(size)
        lists = [None] * size

        def call(i, all_gather):
            lists[i] = infeed.merge_bad_rows(bad[i], group=all_gather)

        self.assertEqual(merged.run(call), [None] * size)
        self.assertEqual(lists, [lists[0]] * size)
        return [row for step in zip(*rows) for row in step], place, lists[0]

    def test_any_number_of_hosts_has_the_rows_of_one(self):
        whole, _, bad = self.run_hosts(1)
        self.assertEqual(len(whole), self.RECORDS * self.PASSES)
        self.assertEqual(whole.count(-1), self.PASSES * len(self.DAMAGED + self.UNPARSED))
        self.assertEqual([row.record for row in bad], sorted(self.DAMAGED + self.UNPARSED))
        self.assertEqual({row.file for row in bad}, {self.file})
        self.assertIn("data_loss", bad[1].reason)
        self.assertIn("'id'", bad[0].reason)
        for size in (2, 3, 4):
            rows, _, theirs = self.run_hosts(size)
            self.assertEqual((rows, theirs), (whole, bad), size)
        # Stopped, and gone on with another number of hosts.
        for before, after, steps in ((4, 3, 31), (3, 2, 1), (2, 4, 74)):
            first, place, bad_before = self.run_hosts(before, steps=steps)
            rest, _, bad_after = self.run_hosts(after, states=place)
            self.assertEqual(first + rest, whole)
            self.assertEqual(infeed.merge_bad_rows(bad_before + bad_after), bad)

    def test_batches_do_not_depend_on_threads_and_processes(self):
        dataset = self.host(0, 1)
        with dataset.iterate(epoch=0, order_hash=True) as batches, dataset.iterate(epoch=0, order_hash=True) as others:
            self.assertEqual(sum(1 for _ in batches), sum(1 for _ in others))
            self.assertEqual(batches.order_hash, others.order_hash)
            bad = batches.bad_rows
            state = batches.state_dict()
            batches.load_state_dict(state)
            self.assertEqual(batches.bad_rows, [])
        # It would be 0 everywhere, and agree() would find no difference.
        with dataset.iterate(epoch=0) as batches, self.assertRaisesRegex(infeed.Error, "order_hash=True"):
            _ = batches.order_hash
        with dataset.in_process().iterate(epoch=0) as batches:
            self.assertEqual(sum(1 for _ in batches), 75)
            self.assertEqual(batches.bad_rows, bad)

    def test_which_rows_can_be_kept(self):
        records = infeed.records(self.file)
        with self.assertRaisesRegex(infeed.Error, "valid"):
            records.parse({"valid": "int64"}, keep_rows=True)
        self.assertEqual(set(records.parse({"id": "int64"}, keep_rows=True).batch(2).element_spec),
                         {"id", "valid", "bad_row"})
        with infeed.range(3).batch(3).iterate() as batches:
            next(batches)
            self.assertEqual(batches.bad_rows, [])
        with variables(RANK="0", WORLD_SIZE="2"), self.assertRaisesRegex(infeed.Error, "merge_bad_rows: this is rank 0"):
            infeed.merge_bad_rows([])


PROGRAM = """
    import json, sys
    import torch.distributed as distributed
    import infeed

    rank, size, meeting, seed = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=size)
    world = infeed.detect_world()
    batches = infeed.range(120).shuffle(30, seed=seed).shard(world).batch(12 // world.size)
    answer = {"world": [world.rank, world.size, world.source]}
    try:
        infeed.agree(batches, world, seed=seed)
        answer["rows"] = [batch["value"].numpy().tolist() for batch in batches.iterate(epoch=0)]
    except infeed.Error as error:
        answer["error"] = error.message
    distributed.barrier()
    distributed.destroy_process_group()
    print(json.dumps(answer))
"""


@unittest.skipUnless(HAS_TORCH, "torch isn't installed")
class TorchDistributed(unittest.TestCase):
    def job(self, seeds):
        """Runs a process for each seed, and returns their answers."""
        with tempfile.TemporaryDirectory() as folder, variables(GLOO_SOCKET_IFNAME="lo"):
            meeting = os.path.join(folder, "meeting")
            processes = [subprocess.Popen(
                [sys.executable, "-c", textwrap.dedent(PROGRAM), str(rank), str(len(seeds)), meeting, str(seed)],
                stdout=subprocess.PIPE, text=True, cwd=HERE) for rank, seed in enumerate(seeds)]
            outputs = [process.communicate(timeout=SECONDS_MAX)[0] for process in processes]
            self.assertEqual([process.returncode for process in processes], [0] * len(seeds))
            return [json.loads(output.splitlines()[-1]) for output in outputs]

    def test_two_processes_have_their_rows_and_agree(self):
        answers = self.job([7, 7])
        self.assertEqual([answer["world"] for answer in answers],
                         [[0, 2, "torch.distributed"], [1, 2, "torch.distributed"]])
        whole = rows_of(numbers(seed=7).batch(12))
        together = [sorted(one + other) for one, other in zip(*(answer["rows"] for answer in answers))]
        self.assertEqual(together, [sorted(batch) for batch in whole])

    def test_two_processes_with_other_seeds_are_refused(self):
        for answer in self.job([7, 8]):
            self.assertIn("agree: seed is not the same everywhere: process 1 (rank 1) has 8; process 0 has 7",
                          answer["error"])


if __name__ == "__main__":
    unittest.main()
