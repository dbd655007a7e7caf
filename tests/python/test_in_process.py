"""Pipelines in a process of their own: how they end, what they refuse, and who may write their batches."""

import multiprocessing
import os
import pickle
import signal
import tempfile
import threading
import time
import unittest
import unittest.mock

import numpy as np

import infeed
from columns import values
from frames import Alarm, wait_until_main_is_inside
from infeed import _in_process
from infeed._in_process import ProcessIterator
from infeed._processes import Answers

SECONDS_MAX = 60


def stuck():
    yield {"value": [1]}
    time.sleep(SECONDS_MAX)


def late():
    yield {"value": [1]}
    time.sleep(4)


def resident_bytes(process):
    with open(f"/proc/{process}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def interrupt():
    raise KeyboardInterrupt


def code_of_next(iterator):
    try:
        next(iterator)
    except infeed.Error as error:
        return error.code
    except StopIteration:
        return "end"
    return None


def failing(batch):
    raise KeyError("of the function") from ValueError("the cause")


def empty(batch):
    return {"value": np.zeros((0,), "int32")}


def doubled(batch):
    return {"value": 2 * batch["value"].numpy()}


def loaded_by(process):
    if os.getpid() != process:
        raise ImportError("not here")
    return Unloadable()


class Unloadable:
    def __call__(self, batch):
        return batch

    def __reduce__(self):
        return (loaded_by, (os.getpid(),))


class InProcess(unittest.TestCase):
    def test_a_terminal_error_comes_again(self):
        expected = ([None] + 3 * ["deadline_exceeded"], 1)
        for _ in range(5):  # a machine that stands still makes the first batch late, or the end come in time
            with infeed.from_generator(late).in_process().iterate(watchdog=1.5) as iterator:
                found = ([code_of_next(iterator) for _ in range(4)], iterator.position)
            if found == expected:
                break
        self.assertEqual(found, expected)

    def test_its_end_comes_again(self):
        with infeed.range(3).batch(3).in_process().iterate() as iterator:
            self.assertEqual(values(iterator), [0, 1, 2])
            self.assertEqual(values(iterator), [])

    def test_a_process_that_is_gone_is_named(self):
        with infeed.range(90).batch(3).in_process(ahead=2).iterate() as iterator:
            next(iterator)
            iterator._process.kill()
            iterator._process.join()
            with self.assertRaisesRegex(infeed.Error, "the process of the pipeline ended"):
                for _ in range(9):  # some may have come before
                    next(iterator)
            for call in [iterator.statistics, lambda: iterator.load_state_dict(iterator.state_dict())]:
                with self.assertRaisesRegex(infeed.Error, "the process of the pipeline ended"):
                    call()

    def test_a_pipeline_that_cannot_begin_says_why(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "f")
            with infeed.RecordWriter(file) as writer:
                writer.write(b"one")
            dataset = infeed.records(file).in_process()
            os.remove(file)
            for call in ["state_dict", "statistics", "__next__"]:
                with dataset.iterate() as iterator, self.assertRaisesRegex(infeed.Error, "no file matches"):
                    getattr(iterator, call)()

    def test_an_error_keeps_its_cause(self):
        dataset = infeed.range(4).batch(2).map_batches(failing, where="thread")
        with dataset.in_process().iterate() as iterator, self.assertRaises(infeed.Error) as raised:
            next(iterator)
        self.assertIn("ValueError: the cause", str(raised.exception.__cause__))

    def test_it_ends_when_it_is_cancelled_or_closed(self):
        for end in ["cancel", "close"]:
            with infeed.from_generator(stuck).in_process().iterate() as iterator:
                next(iterator)

                def end_it(method=getattr(iterator, end)):
                    wait_until_main_is_inside("_take")
                    method()

                ender = threading.Thread(target=end_it)
                ender.start()
                with self.assertRaises(infeed.Error) as raised:
                    next(iterator)
                self.assertEqual(raised.exception.code, "cancelled")
                ender.join()
                if end == "cancel":
                    self.assertIn("position 1", iterator.state_dict()["infeed"])

    def test_a_signal_handler_may_take_the_answer_that_is_there(self):
        with infeed.range(9).batch(3).in_process(ahead=1).iterate() as iterator:
            get, asked, asking = iterator._answers.get, [], []

            def be_interrupted_and_get(seconds_max):
                if not asking:
                    asking.append(True)
                    asked.append(iterator.statistics())  # takes all that has come before its own answer
                    asking.clear()
                return get(seconds_max)

            iterator._answers.get = be_interrupted_and_get
            self.assertEqual(values(iterator), list(range(9)))
            self.assertGreater(len(asked), 2)

    def test_a_message_is_not_interrupted_half_way(self):
        ours, theirs = multiprocessing.Pipe()
        with ours, theirs:
            answers = Answers(ours)
            message = pickle.dumps("whole" * 9)
            whole = len(message).to_bytes(4, "big") + message  # as Connection.send() writes it
            os.write(theirs.fileno(), whole[:20])
            with self.assertRaises(KeyboardInterrupt), Alarm(interrupt, method="get"):
                answers.get(SECONDS_MAX)
            os.write(theirs.fileno(), whole[20:])
            self.assertEqual(answers.get(SECONDS_MAX), "whole" * 9)
            answers.end()  # though the other end is open
            for _ in range(2):
                with self.assertRaises(EOFError):
                    answers.get(SECONDS_MAX)

    def test_a_handler_may_take_what_others_wait_for(self):
        place = infeed.range(9).batch(3).iterate().state_dict()
        for outer, inner in [("state_dict", "state_dict"), ("statistics", "tuning"), ("load_state_dict", "load_state_dict")]:
            with infeed.range(9).batch(3).in_process().iterate() as iterator:
                process = iterator._process.pid
                os.kill(process, signal.SIGSTOP)  # so that the outer call waits
                call = {name: getattr(iterator, name) for name in ("state_dict", "statistics", "tuning")}
                call["load_state_dict"] = lambda it=iterator: it.load_state_dict(place)
                inner_ones = []
                with Alarm(lambda pid=process: os.kill(pid, signal.SIGCONT),
                           lambda ask=call[inner], seen=inner_ones: seen.append(ask()), method=outer):
                    call[outer]()
                self.assertEqual(len(inner_ones), 1)
                self.assertEqual(values(iterator), list(range(9)))

    def test_a_large_checkpoint_is_sent_whole_or_not_at_all(self):
        place = infeed.range(9).batch(3).iterate().state_dict()
        large = {"infeed": place["infeed"] + 1_000_000 * "x"}  # refused, as its text is no checkpoint
        for is_interrupted in [True, False]:
            with infeed.range(9).batch(3).in_process(ahead=1).iterate() as iterator:
                process = iterator._process.pid
                os.kill(process, signal.SIGSTOP)  # the pipe takes a part of it
                with self.assertRaises(KeyboardInterrupt if is_interrupted else infeed.Error), \
                        Alarm(lambda pid=process: os.kill(pid, signal.SIGCONT),
                              interrupt if is_interrupted else iterator.statistics, method="_send"):
                    iterator.load_state_dict(large)
                self.assertEqual(next(iterator)["value"].to_pylist(), [0, 1, 2])
                iterator.load_state_dict(place)
                self.assertEqual(values(iterator), list(range(9)))

    def test_parts_of_interrupted_requests_are_forgotten(self):
        place = infeed.range(9).batch(3).iterate().state_dict()
        large = {"infeed": place["infeed"] + 4_000_000 * "x"}

        def send(command, value):
            if command == "resume":
                raise KeyboardInterrupt
            ProcessIterator._send(iterator, command, value)

        with infeed.range(9).batch(3).in_process(ahead=1).iterate() as iterator:
            iterator.load_state_dict(place)  # the process has begun
            before = resident_bytes(iterator._process.pid)
            iterator._send = send
            for _ in range(20):
                with self.assertRaises(KeyboardInterrupt):
                    iterator.load_state_dict(large)
            del iterator._send
            iterator.load_state_dict(place)
            self.assertLess(resident_bytes(iterator._process.pid) - before, 40 << 20)
            self.assertEqual(values(iterator), list(range(9)))

    def test_a_request_may_come_between_the_parts_of_another(self):
        first = infeed.range(9).batch(3).iterate()
        places = [first.state_dict()]
        next(first)
        places.append(first.state_dict())
        sent = []

        def send(command, value):
            ProcessIterator._send(iterator, command, value)
            sent.append(command)
            if sent.count("part") == 2 and command == "part":
                iterator.load_state_dict(places[0])

        with unittest.mock.patch.object(_in_process, "_PART_CHARACTERS", 20), \
                infeed.range(9).batch(3).in_process().iterate() as iterator:
            iterator._send = send
            iterator.load_state_dict(places[1])
            self.assertEqual(sent.count("resume"), 2)
            self.assertEqual(values(iterator), list(range(3, 9)))

    def test_a_refused_state_is_no_pass(self):
        with infeed.range(80).batch(4).iterate(epoch=4) as iterator:
            next(iterator)
            state = iterator.state_dict()
        made = infeed.range(90).shuffle(90, seed=3).batch(3)
        dataset = made.in_process()
        for wrong in (state, {}, {"infeed": "no checkpoint"}):
            with self.assertRaises(infeed.Error) as raised:
                dataset.iterate(resume=wrong)
            self.assertNotEqual(raised.exception.code, "unavailable")
        self.assertEqual(values(dataset), values(made.iterate(epoch=0)))

    def test_it_must_be_the_last_stage(self):
        dataset = infeed.range(6).batch(3)
        last = dataset.in_process().map_batches(doubled)
        self.assertEqual(type(last), type(dataset.in_process()))
        self.assertEqual([list(batch["value"]) for batch in last], [[0, 2, 4], [6, 8, 10]])
        with self.assertRaisesRegex(infeed.Error, "must be the last stage"):
            dataset.concatenate(dataset.in_process())
        for ahead in [0, -1, 1.5]:
            with self.assertRaisesRegex(infeed.Error, "ahead is"):
                dataset.in_process(ahead=ahead)

    def test_what_cannot_be_sent_is_named(self):
        before = len(os.listdir("/proc/self/fd"))
        dataset = infeed.range(6).batch(3).map_batches(lambda batch: batch, where="thread").in_process()
        with self.assertRaisesRegex(infeed.Error, "can't be sent to a process"):
            dataset.iterate()
        self.assertEqual(len(os.listdir("/proc/self/fd")), before)

    def test_why_a_process_cannot_load_a_function(self):
        iterator = iter(infeed.range(4).batch(2).map_batches(Unloadable(), where="process"))
        for _ in range(2):
            with self.assertRaisesRegex(infeed.Error, "raised ImportError: not here"):
                next(iterator)

    def test_it_has_processes_of_its_own(self):
        for function, expected in [(doubled, [[0, 2], [4, 6]]), (empty, [[], []])]:
            dataset = infeed.range(4).batch(2).map_batches(function, where="process")
            for kind in [dataset, dataset.in_process()]:
                self.assertEqual([batch["value"].to_pylist() for batch in kind], expected)

    def test_batches_may_be_written(self):
        for copies in [infeed.range(4).batch(2).in_process(),
                       infeed.range(4).batch(2).map_batches(doubled, where="process")]:
            batches = list(copies)
            self.assertEqual([batch["value"].is_alone for batch in batches], [True, True])
            kept = batches[1]["value"].to_pylist()
            batches[0]["value"].numpy()[:] = 7
            self.assertEqual([batch["value"].to_pylist() for batch in batches], [[7, 7], kept])

    def test_nothing_is_made_behind_a_place(self):
        made = infeed.range(1000).batch(1)
        with made.in_process(ahead=8).iterate() as iterator:
            for wrong, kind in [(-1, infeed.Error), (2.5, TypeError)]:
                with self.assertRaises(kind):
                    iterator.read_ahead_until(wrong)
            iterator.read_ahead_until(3)
            self.assertEqual(values([next(iterator) for _ in range(5)]), [0, 1, 2, 3, 4])
            self.assertIn("batch", iterator.statistics())
            self.assertIn("verdict", iterator.statistics())
            self.assertIsInstance(iterator.tuning(), str)


if __name__ == "__main__":
    unittest.main()
