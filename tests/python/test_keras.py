"""Keras over a Dataset: its epochs, and the state behind each of them."""

import unittest

from adapted import dataset, expected, needs


@needs("keras", "tensorflow")
class Keras(unittest.TestCase):
    def model(self):
        import keras  # pylint: disable=import-outside-toplevel
        keras.utils.set_random_seed(1)
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse", run_eagerly=True)
        return model

    def test_a_generator_for_one_epoch(self):
        from infeed import keras as infeed_keras  # pylint: disable=import-outside-toplevel
        history = self.model().fit(infeed_keras.generator(dataset(), "x", "y"), verbose=0)
        self.assertEqual(len(history.history["loss"]), 1)

    def test_the_adapter_and_its_state(self):
        # pylint: disable=import-outside-toplevel
        import keras
        from infeed import keras as infeed_keras

        class Seen(keras.callbacks.Callback):
            """Counts batches."""

            count = 0

            def on_train_batch_end(self, batch, logs=None):
                self.count += 1
                if self.count == 17:  # in the second epoch
                    saved.update(infeed_keras_state.state)

        adapter, saved, seen = dataset().keras(inputs="x", targets="y"), {}, Seen()
        infeed_keras_state = infeed_keras.CurrentState(adapter)
        self.model().fit(adapter, epochs=3, verbose=0, callbacks=[infeed_keras_state, seen])
        self.assertEqual(seen.count, 39)
        resumed = dataset().keras(inputs="x", targets="y")
        resumed.load_state_dict(saved)
        rest = [y.tolist() for _, y in resumed.get_numpy_iterator()]
        self.assertEqual(rest, expected(epoch=1)[4:])

    def test_the_state_behind_an_evaluation(self):
        from infeed import keras as infeed_keras  # pylint: disable=import-outside-toplevel
        adapter = dataset().keras(inputs="x", targets="y")
        model = self.model()
        model.evaluate(adapter, verbose=0)
        current = infeed_keras.CurrentState(adapter)
        model.fit(adapter, epochs=1, steps_per_epoch=5, verbose=0, callbacks=[current])
        resumed = dataset().keras(inputs="x", targets="y")
        resumed.load_state_dict(current.state)
        self.assertEqual([y.tolist() for _, y in resumed.get_numpy_iterator()], expected(epoch=1)[5:])

    def test_the_state_where_epochs_are_no_passes(self):
        # pylint: disable=import-outside-toplevel
        import keras
        from infeed import keras as infeed_keras

        batches = [y for epoch in (0, 1, 2) for y in expected(epoch)]
        for steps, execution in [(5, 1), (20, 1), (6, 3), (None, 4)]:
            adapter, places = dataset().keras(inputs="x", targets="y"), []
            current = infeed_keras.CurrentState(adapter)

            class Places(keras.callbacks.Callback):
                """Keeps the place behind each execution."""

                def on_train_batch_end(self, batch, logs=None, current=current, places=places):
                    places.append(current.state)

            model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
            model.compile("sgd", "mse", steps_per_execution=execution, run_eagerly=execution == 1)
            model.fit(adapter, epochs=2, steps_per_epoch=steps, verbose=0, callbacks=[current, Places()])
            trained = 0
            for place in places:
                trained = min(trained + execution, len(batches))
                if steps is None:  # 13 batches of a pass are executed as 4, 4, 4 and 1
                    trained = min(trained, 13 * (1 + places.index(place) // 4))
                resumed = dataset().keras(inputs="x", targets="y")
                resumed.load_state_dict(place)
                rest = [y.tolist() for _, y in resumed.get_numpy_iterator()]
                left = batches[trained:13 * (1 + trained // 13)]
                self.assertEqual(rest, left, f"{steps} steps, {execution} at once, {trained} trained")

    def batches_of_epochs(self, adapter):
        """Trains for three epochs."""
        import keras  # pylint: disable=import-outside-toplevel

        class Counts(keras.callbacks.Callback):
            """Counts the batches of each epoch."""

            def on_epoch_begin(self, epoch, logs=None):
                counts.append(0)

            def on_train_batch_end(self, batch, logs=None):
                counts[-1] += 1

        counts = []
        self.model().fit(adapter, epochs=3, verbose=0, callbacks=[Counts()])
        return counts

    def test_epochs_behind_a_resume_are_whole_passes(self):
        # Behind skip_errors() the length isn't known unless it is told.
        for kind in [dataset(), dataset().skip_errors().assert_cardinality(13)]:
            for taken, expected_counts in [(9, [4, 13, 13]), (13, [13, 13, 13])]:
                with kind.iterate(epoch=0) as iterator:
                    for _ in range(taken):
                        next(iterator)
                    state = iterator.state_dict()
                adapter = kind.keras(inputs="x", targets="y")
                adapter.load_state_dict(state)
                self.assertEqual(self.batches_of_epochs(adapter), expected_counts)

    def test_epochs_of_unknown_length_end_with_their_passes(self):
        unknown = dataset().skip_errors()
        with self.assertRaises(TypeError):
            len(unknown)
        self.assertEqual(self.batches_of_epochs(unknown.keras(inputs="x", targets="y")), [13, 13, 13])


if __name__ == "__main__":
    unittest.main()
