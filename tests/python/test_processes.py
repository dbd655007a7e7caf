"""Threads, forks, signals, and the ends of processes: nothing hangs, grows or stays behind."""

import gc
import json
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import unittest
import unittest.mock

import numpy as np

import infeed
import data
from infeed import _processes

LONG = bool(os.environ.get("INFEED_PYTHON_LONG"))
SECONDS_MAX = 60
HERE = os.path.dirname(os.path.abspath(__file__))


def endless():
    """Returns an endless pipeline with threads of its own."""
    return infeed.range(1000).shuffle(100, seed=1).repeat().batch(10).prefetch()


def run(program, **options):
    """Runs a Python program in a process of its own."""
    return subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True,
                          timeout=SECONDS_MAX, cwd=HERE, check=False, **options)


def start(program):
    """Starts a Python program, and returns when it has printed its first line."""
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, cwd=HERE)
    process.stdout.readline()
    return process


def resident_bytes():
    """Returns the memory of this process."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def open_files():
    return len(os.listdir("/proc/self/fd"))


def threads():
    return len(os.listdir("/proc/self/task"))


def doubled(batch):
    return {"x": batch["value"].numpy() * 2}


def sum_of_rest(text, state, result):
    """Runs in a process of its own."""
    iterator = pickle.loads(text).iterate(epoch=0)
    iterator.load_state_dict(json.loads(state))
    result.send(int(sum(batch["value"].numpy().sum() for batch in iterator)))


class Threads(unittest.TestCase):
    def test_many_threads_take_each_element_once(self):
        iterator = iter(infeed.range(20_000).batch(10).prefetch())
        seen, lock = [], threading.Lock()

        def take():
            for batch in iterator:
                values = batch["value"].to_pylist()
                with lock:
                    seen.extend(values)

        workers = [threading.Thread(target=take) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(SECONDS_MAX)
        self.assertEqual(sorted(seen), list(range(20_000)))

    def test_iterators_side_by_side(self):
        totals = {}

        def total(seed):
            dataset = infeed.range(5000).shuffle(500, seed=seed).batch(50)
            totals[seed] = sum(int(batch["value"].numpy().sum()) for batch in dataset)

        workers = [threading.Thread(target=total, args=(seed,)) for seed in range(6)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(SECONDS_MAX)
        self.assertEqual(totals, {seed: 4999 * 2500 for seed in range(6)})

    def test_closing_from_another_thread(self):
        iterator = iter(endless())
        next(iterator)
        closer = threading.Thread(target=iterator.close)
        closer.start()
        closer.join(SECONDS_MAX)
        with self.assertRaises(infeed.Error):
            for _ in range(10_000):
                next(iterator)


class Growth(unittest.TestCase):
    def check(self, before, bytes_max):
        """Compares memory, descriptors and threads with those before."""
        memory, files, tasks = before
        gc.collect()
        self.assertLess(resident_bytes() - memory, bytes_max)
        self.assertLessEqual(open_files(), files)
        self.assertLessEqual(threads(), tasks + 1, "one may be ending")

    def test_a_thousand_iterators(self):
        dataset = endless()

        def some(count):
            for _ in range(count):
                with iter(dataset) as iterator:
                    next(iterator)["value"].numpy()
            for _ in range(count):
                next(iter(dataset))  # dropped, not closed
            gc.collect()

        some(50)
        before = resident_bytes(), open_files(), threads()
        some(1000 if LONG else 200)
        self.check(before, 20 << 20)

    def test_ten_million_elements(self):
        count = 10_000_000 if LONG else 500_000
        iterator = iter(infeed.range(count).shuffle(1000, seed=1).prefetch())
        total, before = 0, None
        for seen, element in enumerate(iterator):
            total += element
            if seen == count // 10:
                gc.collect()
                before = resident_bytes(), open_files(), threads()
        self.assertEqual(total, count * (count - 1) // 2)
        self.check(before, 10 << 20)

    def test_ten_million_rows_in_batches(self):
        count = 10_000_000 if LONG else 1_000_000
        iterator = iter(infeed.range(count).batch(100).map_batches(doubled, where="thread"))
        total = seen = 0
        before = None
        for batch in iterator:
            total += int(batch["x"].numpy().sum())
            seen += batch.rows()
            if seen == count // 10:
                gc.collect()
                before = resident_bytes(), open_files(), threads()
        self.assertEqual((seen, total), (count, count * (count - 1)))
        self.check(before, 10 << 20)

    @unittest.skipUnless(LONG, "the long form counts bytes")
    def test_nothing_leaks(self):
        done = subprocess.run([sys.executable, "leaks.py"], cwd=HERE, env={**os.environ, "PYTHONMALLOC": "malloc"},
                              capture_output=True, text=True, timeout=4 * SECONDS_MAX, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_columns_let_go_of_their_memory(self):
        memory = None
        for step in range(400):
            batch = infeed.batch({"x": np.zeros(1 << 20, np.uint8)}, copy=True)
            arrays = [batch["x"].numpy(), np.from_dlpack(batch["x"]), np.asarray(batch["x"])]
            batch["x"].__dlpack__()  # a capsule that nobody takes
            batch.__arrow_c_array__()
            batch.__arrow_c_stream__()
            del arrays
            if step == 50:
                memory = resident_bytes()
        self.assertLess(resident_bytes() - memory, 20 << 20)


class Processes(unittest.TestCase):
    def test_a_process_that_cannot_be_started_leaves_nothing_open(self):
        call = _processes.ProcessFunction(doubled, 1)
        before = open_files()
        with unittest.mock.patch.object(_processes, "start", side_effect=BlockingIOError("no process is left")):
            with self.assertRaisesRegex(BlockingIOError, "no process is left"):
                call(None, 0, 0)
        self.assertEqual(open_files(), before)

    def test_a_fork_is_refused(self):
        iterator = iter(endless())
        next(iterator)
        receiver, sender = multiprocessing.Pipe(duplex=False)
        child = os.fork()
        if child == 0:
            try:
                next(iterator)
                sender.send("went on")
            except infeed.Error as error:
                iterator.close()  # waits for none of the parent's threads
                sender.send(str(error))
            except BaseException as error:  # pylint: disable=broad-exception-caught
                sender.send(repr(error))
            os._exit(0)
        self.assertTrue(receiver.poll(SECONDS_MAX))
        self.assertIn("fork", receiver.recv())
        os.waitpid(child, 0)
        next(iterator)  # the parent goes on

    def test_spawn_and_forkserver_go_on_from_a_state(self):
        dataset = infeed.range(1000).shuffle(100, seed=1).batch(10)
        iterator = dataset.iterate(epoch=0)
        for _ in range(30):
            next(iterator)
        state = json.dumps(iterator.state_dict())
        rest = int(sum(batch["value"].numpy().sum() for batch in iterator))
        for method in ["spawn", "forkserver"]:
            context = multiprocessing.get_context(method)
            receiver, sender = context.Pipe(duplex=False)
            child = context.Process(target=sum_of_rest, args=(pickle.dumps(dataset), state, sender))
            child.start()
            self.assertTrue(receiver.poll(SECONDS_MAX), method)
            self.assertEqual(receiver.recv(), rest, method)
            child.join(SECONDS_MAX)
            self.assertEqual(child.exitcode, 0)

    def test_exit_while_let_go_generators_wake_up(self):
        """Their threads want the interpreter's lock while Python ends: seven of ten such ends were an abort."""
        for _ in range(10):
            done = run("""
                import functools, os, infeed

                def gated(gate):
                    yield {"value": [1]}
                    os.read(gate, 1)
                    yield {"value": [2]}

                gates = [os.pipe() for _ in range(8)]
                iterators = [infeed.from_generator(functools.partial(gated, gate)).prefetch().iterate()
                             for gate, _ in gates]
                for iterator in iterators:
                    next(iterator)
                for iterator in iterators:
                    iterator.close(0.01)
                for _, gate in gates:
                    os.write(gate, b"x")
                """)
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_exit_with_iterators_alive(self):
        for end in ["", "sys.exit(0)", "import os; os._exit(0)", "raise SystemExit(0)"]:
            done = run(f"""
                import sys, threading, numpy as np
                import infeed
                from test_processes import endless
                kept = [iter(endless()) for _ in range(3)]
                arrays = [next(iterator)["value"].numpy() for iterator in kept]
                waiting = iter(infeed.from_generator(lambda: iter([])).prefetch())
                waits = iter(endless().map_batches(lambda batch: {{"x": np.zeros(3)}}, where="thread"))
                next(waits)
                {end}
                """)
            self.assertEqual((done.returncode, done.stderr), (0, ""), end)

    def test_exit_while_functions_go_on_calling_python(self):
        for pipeline in ["infeed.range(8).batch(2).map_batches(working, where='thread', workers=2)",
                         "infeed.from_generator(lambda: map(working, [{'x': [1]}])).prefetch()"]:
            process = start(f"""
                import time
                import infeed
                def working(batch):
                    print("ready", flush=True)
                    while True:
                        time.sleep(0.001)
                next(iter({pipeline}))
                """)
            process.send_signal(signal.SIGINT)
            _, error = process.communicate(timeout=SECONDS_MAX)
            self.assertEqual(process.returncode, -signal.SIGINT, error)

    def test_ctrl_c_while_waiting(self):
        process = start("""
            import time
            import infeed
            def slow():
                yield {"x": [1.0]}
                time.sleep(600)
            iterator = iter(infeed.from_generator(slow).prefetch())
            next(iterator)
            print("ready", flush=True)
            next(iterator)
            """)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=SECONDS_MAX)  # a tenth of the time for which it would have waited
        self.assertIn("KeyboardInterrupt", error)

    def test_kill_9_and_resume(self):
        with tempfile.TemporaryDirectory() as folder:
            data.make(folder)
            program = f"""
                import json, os, sys
                import pipelines
                dataset = pipelines.PIPELINES["all of it"]({folder!r})
                iterator = dataset.iterate(epoch=0)
                if os.path.exists("{folder}/state"):
                    iterator.load_state_dict(json.load(open("{folder}/state")))
                for step, batch in enumerate(iterator):
                    with open("{folder}/taken", "a") as file:
                        print(pipelines.text_of(batch), file=file)
                    with open("{folder}/next", "w") as file:
                        json.dump(iterator.state_dict(), file)
                    os.replace("{folder}/next", "{folder}/state")
                    if step == 4 and len(sys.argv) > 1:
                        os.kill(os.getpid(), 9)
                """
            whole = run(program)
            self.assertEqual(whole.returncode, 0, whole.stderr)
            with open(f"{folder}/taken", encoding="utf-8") as file:
                expected = file.read()
            os.remove(f"{folder}/taken")
            os.remove(f"{folder}/state")
            for _ in range(3):
                killed = subprocess.run([sys.executable, "-c", textwrap.dedent(program), "kill"], cwd=HERE,
                                        timeout=SECONDS_MAX, check=False, capture_output=True)
                self.assertEqual(killed.returncode, -signal.SIGKILL, killed.stderr)
            self.assertEqual(run(program).returncode, 0)
            with open(f"{folder}/taken", encoding="utf-8") as file:
                self.assertEqual(file.read(), expected)


if __name__ == "__main__":
    unittest.main()
