"""Every stage, stopped at random steps and resumed in another process, gives exactly the rest."""

import json
import os
import pickle
import random
import subprocess
import sys
import tempfile
import unittest

import data
import pipelines

SEED = int(os.environ.get("INFEED_TEST_SEED", random.randrange(1 << 32)))
STEPS = 4 if not os.environ.get("INFEED_PYTHON_LONG") else 20


class Resume(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        data.make(cls.folder.name)
        # One interpreter for all: it keeps nothing between the requests.
        cls.other = subprocess.Popen([sys.executable, os.path.join(os.path.dirname(__file__), "resumer.py")],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    @classmethod
    def tearDownClass(cls):
        cls.other.stdin.close()
        cls.other.wait(60)
        cls.other.stdout.close()
        cls.folder.cleanup()

    def rest_in_another_process(self, name, state):
        """Returns the elements behind the state, as another process reads them."""
        request = {"folder": self.folder.name, "pipeline": name, "state": state}
        print(json.dumps(request), file=self.other.stdin, flush=True)
        line = self.other.stdout.readline()
        self.assertTrue(line, f"the other process ended at {name}")
        return json.loads(line)

    def check(self, name, make, chance):
        """Compares the whole with the rest behind some of its steps."""
        dataset = make(self.folder.name)
        self.assertEqual(pickle.loads(pickle.dumps(dataset)), dataset)
        with dataset.iterate(epoch=0) as iterator:
            states, texts = [iterator.state_dict()], []
            for element in iterator:
                texts.append(pipelines.text_of(element))
                states.append(iterator.state_dict())
        self.assertGreater(len(texts), 2, "there is something to stop in")
        for step in {0, len(texts), *chance.sample(range(len(states)), min(STEPS, len(states)))}:
            self.assertLess(len(json.dumps(states[step])), 1024)
            self.assertEqual(list(states[step]), ["infeed"])
            self.assertEqual(self.rest_in_another_process(name, states[step]), texts[step:], f"step {step}")

    def test_every_stage(self):
        chance = random.Random(SEED)
        for name, make in pipelines.PIPELINES.items():
            with self.subTest(pipeline=name, seed=f"INFEED_TEST_SEED={SEED}"):
                self.check(name, make, chance)

    def test_every_kind_of_stage_is_among_them(self):
        import infeed  # pylint: disable=import-outside-toplevel
        missing = {kind["name"] for kind in json.loads(infeed._core.stages())}
        for make in pipelines.PIPELINES.values():
            text = make(self.folder.name)._core.to_json(True)
            missing = {name for name in missing if f'"stage":"{name}"' not in text}
        self.assertEqual(missing, set())

    def test_a_state_of_another_pipeline_is_refused(self):
        import infeed  # pylint: disable=import-outside-toplevel
        state = iter(infeed.range(100).batch(7)).state_dict()
        with self.assertRaises(infeed.Error):
            iter(infeed.range(100).batch(8)).load_state_dict(state)


if __name__ == "__main__":
    unittest.main()
