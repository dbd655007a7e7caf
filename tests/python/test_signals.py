"""What an iterator does when a signal comes while it waits."""

import contextlib
import functools
import json
import os
import select
import socket
import tempfile
import time
import unittest

import infeed
from columns import values
from frames import Alarm

SECONDS_MAX = 60


def slow(gate):
    """Gives one batch, and the next one once the gate is open. Says by a second pipe that it is there."""
    yield {"value": [1]}
    with open(gate + ".reached", "r+b", buffering=0) as reached:
        reached.write(b"x")
    with open(gate, "rb", buffering=0) as opened:
        select.select([opened], [], [], SECONDS_MAX)
    yield {"value": [2]}


@contextlib.contextmanager
def slow_dataset():
    """Gives a dataset of slow(), the function that opens its gate for good (a pipe, which processes share), and the one
    that waits until a pass has reached it."""
    with tempfile.TemporaryDirectory() as folder:
        gate = os.path.join(folder, "gate")
        os.mkfifo(gate)
        os.mkfifo(gate + ".reached")
        descriptor = os.open(gate, os.O_RDWR)
        reached = os.open(gate + ".reached", os.O_RDWR)
        try:
            dataset = infeed.from_generator(functools.partial(slow, gate))
            yield dataset, lambda: os.write(descriptor, b"x"), lambda: os.read(reached, 1)
        finally:
            os.close(descriptor)
            os.close(reached)


def sleepy(batch):
    time.sleep(0.06)
    return batch


class Signals(unittest.TestCase):
    def test_a_handler_may_save_the_place(self):
        for put_behind in [infeed.Dataset.prefetch, infeed.Dataset.in_process]:
            with slow_dataset() as (dataset, open_gate, _), put_behind(dataset).iterate() as iterator:
                self.assertEqual(values([next(iterator)]), [1])
                states = []
                with Alarm(lambda it=iterator, seen=states: seen.append((it.position, it.state_dict())), open_gate):
                    self.assertEqual(values([next(iterator)]), [2])
                (position, state), = states
                self.assertEqual(position, 1)
                iterator.load_state_dict(state)
                self.assertEqual(values(iterator), [2])

    def test_a_handler_may_close(self):
        with slow_dataset() as (dataset, open_gate, _), dataset.prefetch().iterate() as iterator:
            next(iterator)
            with self.assertRaisesRegex(infeed.Error, "cancelled"), Alarm(iterator.close, open_gate):
                next(iterator)
            self.assertTrue(iterator.is_closed)

    def test_a_handler_may_close_and_raise(self):
        def interrupt():
            raise KeyboardInterrupt

        for make in [infeed.Dataset.prefetch, infeed.Dataset.in_process,
                     lambda _: infeed.range(300).batch(3).map_batches(sleepy, where="thread")]:
            with slow_dataset() as (dataset, open_gate, _), make(dataset).iterate() as iterator:
                next(iterator)
                with self.assertRaises(KeyboardInterrupt), Alarm(iterator.close, open_gate, interrupt):
                    for _ in iterator:
                        pass

    def test_a_silent_server_is_waited_for_in_the_callers_thread(self):
        def interrupt():
            raise KeyboardInterrupt

        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"http://127.0.0.1:{silent.getsockname()[1]}/x.tfrecord"
            batches = infeed.records(url).parse({"x": "int64"}).batch(2)
            for dataset in [batches, batches.prefetch(), batches.prefetch(2), batches.repeat().prefetch(1)]:
                with dataset.iterate() as iterator:
                    begin = time.monotonic()
                    for _ in range(2):
                        with self.assertRaises(KeyboardInterrupt), Alarm(interrupt):
                            next(iterator)
                    self.assertLess(time.monotonic() - begin, 20)
                    self.assertEqual(iterator.position, 0)

    def test_close_answers_ctrl_c(self):
        def interrupt():
            raise KeyboardInterrupt

        with slow_dataset() as (dataset, open_gate, wait_at_gate):
            iterator = dataset.prefetch().iterate()
            next(iterator)
            wait_at_gate()
            with self.assertRaises(KeyboardInterrupt), Alarm(interrupt, method="close"):
                iterator.close()
            self.assertTrue(iterator.is_closed)
            open_gate()

    def test_a_silent_server_answers_ctrl_c(self):
        def interrupt():
            raise KeyboardInterrupt

        with socket.create_server(("127.0.0.1", 0)) as server:
            url = f"http://127.0.0.1:{server.getsockname()[1]}/x"
            described = json.dumps({"stages": [{"stage": "csv", "files": url + ".csv"}]})
            for call, method in [(lambda: infeed.csv(url + ".csv"), "_then"),
                                 (lambda: infeed.from_json(described), "from_json"),
                                 (lambda: infeed.records(url).fingerprint, "fingerprint"),
                                 (infeed.records(url).iterate().state_dict, "state_dict")]:
                begun = time.monotonic()
                with self.subTest(method=method), self.assertRaises(KeyboardInterrupt), Alarm(interrupt, method=method):
                    call()
                self.assertLess(time.monotonic() - begun, SECONDS_MAX / 2)

    def test_the_last_reference_waits_no_longer_than_a_second(self):
        with slow_dataset() as (dataset, open_gate, _):
            iterator = dataset.prefetch().iterate()
            next(iterator)
            begun = time.monotonic()
            del iterator
            self.assertLess(time.monotonic() - begun, SECONDS_MAX / 2)
            open_gate()

    def test_a_handler_may_ask_a_process(self):
        for ahead in [1, 4]:
            with infeed.range(30).batch(3).map_batches(sleepy, where="thread").in_process(ahead).iterate() as iterator:
                asked = []
                with Alarm(lambda it=iterator, answers=asked: answers.append(it.statistics())):
                    self.assertEqual(values(iterator), list(range(30)))
                self.assertEqual(len(asked), 1)

    def test_an_interrupted_load_is_made_up_for(self):
        def stop():
            raise KeyboardInterrupt

        with infeed.range(30).batch(3).map_batches(sleepy, where="thread").in_process().iterate() as iterator:
            state = iterator.state_dict()
            next(iterator)
            with self.assertRaises(KeyboardInterrupt), Alarm(stop, method="load_state_dict"):
                while True:
                    iterator.load_state_dict(state)
            iterator.load_state_dict(state)
            self.assertEqual(iterator.position, 0)
            self.assertEqual(values(iterator), list(range(30)))

    def test_an_interrupted_process_gives_no_earlier_batch(self):
        def stop():
            raise KeyboardInterrupt

        dataset = infeed.range(60).batch(3).map_batches(sleepy, where="process")
        with dataset.iterate(threads_max=1) as iterator:  # this thread asks the process
            next(iterator)
            with self.assertRaisesRegex(infeed.Error, "KeyboardInterrupt"), Alarm(stop):
                while True:
                    next(iterator)
            first = 3 * iterator.position
            self.assertEqual(values(iterator), list(range(first, 60)))

    def test_a_handler_may_not_go_elsewhere(self):
        with slow_dataset() as (dataset, open_gate, _), dataset.prefetch().iterate() as iterator:
            state = iterator.state_dict()
            next(iterator)
            with self.assertRaisesRegex(infeed.Error, "set a flag"), \
                    Alarm(open_gate, lambda: iterator.load_state_dict(state)):
                next(iterator)
            self.assertEqual(values(iterator), [2])


if __name__ == "__main__":
    unittest.main()
