"""Event files: the real tensorboard reads what infeed writes."""

import io
import json
import logging
import os
import pathlib
import subprocess
import tempfile
import time
import unittest

import numpy as np
from google.protobuf import descriptor_pb2
from PIL import Image
from tensorboard import context
from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto import event_pb2, graph_pb2, summary_pb2, types_pb2
from tensorboard.data import provider, server_ingester
from tensorboard.util import grpc_util, tensor_util

import programs

EPOCHS = 3
SCHEMA = pathlib.Path(__file__).resolve().parents[2] / "device" / "events" / "events.proto"
ALL = 10**6


def accumulated(folder):
    """All that a folder's event files hold, as the older one of tensorboard's readers sees it."""
    everything = dict.fromkeys(("scalars", "histograms", "images", "tensors"), 0)
    events = EventAccumulator(str(folder), size_guidance=everything)
    events.Reload()
    return events


class LearningCurves(unittest.TestCase):

    def test_tensorboard_shows_what_the_json_says(self):
        with tempfile.TemporaryDirectory(prefix="infeed-interop-") as folder:
            result_file = os.path.join(folder, "result.json")
            programs.infeed("train", "--seconds", "0.1", "--epochs", str(EPOCHS), "--work",
                            os.path.join(folder, "work"), "--json", result_file)
            with open(result_file) as file:
                result = json.load(file)
            epochs = result["training"]["epochs"]
            self.assertEqual(len(epochs), EPOCHS)
            # The rate, the waits and the graph are the training's alone.
            waits = ["host_infeed_wait", "slice_infeed_wait"]
            for run, keys, more in (("train", {"epoch_loss": "loss", "epoch_accuracy": "accuracy",
                                               "epoch_learning_rate": "learning_rate"}, waits),
                                    ("validation", {"epoch_loss": "test_loss",
                                                    "epoch_accuracy": "test_accuracy"}, [])):
                events = accumulated(os.path.join(result["log_folder"], run))
                self.assertEqual(sorted(events.Tags()["scalars"]), sorted([*keys, *more]))
                self.assertEqual(events.Tags()["graph"], run == "train")
                for tag, key in keys.items():
                    points = events.Scalars(tag)
                    # As Keras counts them; the table counts from 1.
                    self.assertEqual([point.step for point in points],
                                     [epoch["epoch"] - 1 for epoch in epochs])
                    # TensorBoard keeps float32.
                    np.testing.assert_array_equal(
                        np.array([point.value for point in points], np.float32),
                        np.array([epoch[key] for epoch in epochs], np.float32),
                        err_msg=f"{run}/{tag}")


class Schema(unittest.TestCase):

    @staticmethod
    def described(message):
        """Names, numbers and kinds of a message's fields."""
        oneofs = [oneof.name for oneof in message.oneof_decl]
        return {field.name: (field.number, field.type, field.label,
                             field.type_name.rsplit(".", 1)[-1],
                             oneofs[field.oneof_index] if field.HasField("oneof_index") else None)
                for field in message.field}

    @classmethod
    def messages(cls, file):
        """Messages and enumerations of a file by their names, those within others as well."""
        found = {enum.name: {value.name: value.number for value in enum.value}
                 for enum in file.enum_type}
        pending = list(file.message_type)
        while pending:
            message = pending.pop()
            found[message.name] = cls.described(message)
            found |= {enum.name: {value.name: value.number for value in enum.value}
                      for enum in message.enum_type}
            pending += message.nested_type
        return found

    def test_every_field_has_the_number_and_type_that_tensorboard_gives_it(self):
        with tempfile.TemporaryDirectory(prefix="infeed-interop-") as folder:
            output = os.path.join(folder, "events.bin")
            subprocess.run(["protoc", f"--proto_path={SCHEMA.parent}", f"--descriptor_set_out={output}",
                            str(SCHEMA)], check=True)
            ours = descriptor_pb2.FileDescriptorSet.FromString(pathlib.Path(output).read_bytes())
        theirs, pending = {}, [event_pb2.DESCRIPTOR, graph_pb2.DESCRIPTOR, summary_pb2.DESCRIPTOR]
        while pending:
            file = pending.pop()
            described = descriptor_pb2.FileDescriptorProto()
            file.CopyToProto(described)
            theirs |= self.messages(described)
            pending += file.dependencies
        ours = self.messages(ours.file[0])
        self.assertGreater(len(ours), 15)
        for name, fields in ours.items():
            self.assertLessEqual(fields.items(), theirs[name].items(), name)


class Kinds(unittest.TestCase):
    """Each kind of event, read by both of the readers that the page gets its data from (the one in Python
    and the data server), and by EventAccumulator."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="infeed-interop-")
        cls.addClassCleanup(cls.folder.cleanup)
        random = np.random.default_rng(7)
        cls.values = random.normal(size=1000).astype(np.float32) * np.float32(0.1)
        pixels = random.integers(0, 256, size=(5, 9, 3), dtype=np.uint8)
        png = io.BytesIO()
        Image.fromarray(pixels).save(png, "png")
        cls.png = png.getvalue()
        values = cls.values.tolist()
        cls.printed = programs.write_events_with_infeed(os.path.join(cls.folder.name, "run"), [
            {"kind": "start", "step": 0, "what": None},
            {"kind": "scalar", "tag": "loss", "step": 3, "what": 0.5},
            {"kind": "scalar", "tag": "loss", "step": 4, "what": "nan"},
            {"kind": "histogram", "tag": "weights", "step": 3, "what": values},
            {"kind": "histogram", "tag": "weights", "step": 4, "what": [1, "nan", "inf", 2, "-inf"]},
            {"kind": "histogram", "tag": "weights", "step": 5, "what": []},
            {"kind": "histogram", "tag": "weights", "step": 6, "what": [2.5] * 10},
            {"kind": "image", "tag": "digit", "step": 3, "what": list(cls.png)},
            {"kind": "text", "tag": "notes", "step": 3, "what": "batches of **128**, größer"},
            {"kind": "graph", "what": [
                {"name": "kernel_0/dense", "op": "dense", "inputs": [], "device": "/device:TPU:0",
                 "output": [32, 10]},
                {"name": "kernel_0/relu", "op": "relu", "inputs": ["kernel_0/dense"], "device": "",
                 "output": [32, 10]}]}])
        cls.start_server()

    @classmethod
    def start_server(cls):
        port_file = pathlib.Path(cls.folder.name, "port")
        server = subprocess.Popen(
            [server_ingester.get_server_binary().path, f"--logdir={cls.folder.name}", "--reload=once",
             "--port=0", f"--port-file={port_file}", "--die-after-stdin"], stdin=subprocess.PIPE)
        cls.addClassCleanup(server.communicate)  # ends its input, and with it the server
        cls.wait_until(lambda: port_file.exists() and port_file.read_text().endswith("\n"))
        ingester = server_ingester.ExistingServerDataIngester(
            f"localhost:{port_file.read_text().strip()}", channel_creds_type=grpc_util.ChannelCredsType.LOCAL)
        cls.served = ingester.data_provider
        cls.wait_until(lambda: cls.graphs_of(cls.served))  # the last event

    @staticmethod
    def wait_until(is_there):
        until = time.monotonic() + 60
        while not is_there():
            if time.monotonic() > until:
                raise AssertionError("the data server doesn't show what it was given within a minute")
            time.sleep(0.02)

    def providers(self):
        """The data providers of the page, without and with the data server."""
        multiplexer = plugin_event_multiplexer.EventMultiplexer()
        multiplexer.AddRunsFromDirectory(self.folder.name)
        multiplexer.Reload()
        yield "python", data_provider.MultiplexerDataProvider(multiplexer, self.folder.name)
        yield "server", self.served

    @staticmethod
    def graphs_of(source):
        return source.list_blob_sequences(
            context.RequestContext(), experiment_id="", plugin_name="graphs").get("run", {})

    def tensors(self, source, plugin, tag):
        """The points of a tag, as (step, array)."""
        points = source.read_tensors(
            context.RequestContext(), experiment_id="", plugin_name=plugin, downsample=ALL,
            run_tag_filter=provider.RunTagFilter(runs=["run"], tags=[tag]))["run"][tag]
        return [(point.step, point.numpy) for point in points]

    def test_scalars(self):
        points = accumulated(os.path.join(self.folder.name, "run")).Scalars("loss")
        self.assertEqual([(point.step, point.value) for point in points][0], (3, 0.5))
        self.assertTrue(np.isnan(points[1].value))
        for name, source in self.providers():
            with self.subTest(name):
                points = source.read_scalars(
                    context.RequestContext(), experiment_id="", plugin_name="scalars", downsample=ALL,
                    run_tag_filter=provider.RunTagFilter(runs=["run"], tags=["loss"]))["run"]["loss"]
                self.assertEqual((points[0].step, points[0].value), (3, 0.5))
                self.assertTrue(np.isnan(points[1].value))

    def test_histograms(self):
        self.assertEqual(self.printed.split(), ["0", "3", "0", "0"])
        events = accumulated(os.path.join(self.folder.name, "run")).Histograms("weights")
        self.assertEqual([event.step for event in events], [3, 4, 5, 6])
        first = events[0].histogram_value
        self.assertEqual((first.min, first.max, first.num),
                         (self.values.min(), self.values.max(), self.values.size))
        self.assertAlmostEqual(first.sum, self.values.sum(dtype=np.float64), places=9)
        self.assertAlmostEqual(first.sum_squares, np.square(self.values, dtype=np.float64).sum(), places=9)
        edges = np.array([-np.finfo(np.float64).max, *first.bucket_limit])
        np.testing.assert_array_equal(np.histogram(self.values.astype(np.float64), edges)[0], first.bucket)
        self.assertEqual([event.histogram_value.num for event in events], [1000, 2, 0, 10])
        for name, source in self.providers():
            with self.subTest(name):
                shown = self.tensors(source, "histograms", "weights")
                self.assertEqual([step for step, _ in shown], [3, 4, 5, 6])
                self.assertEqual([float(buckets[:, 2].sum()) for _, buckets in shown], [1000, 2, 0, 10])
                left, right = shown[0][1][:, 0], shown[0][1][:, 1]
                self.assertEqual((left[0], right[-1]), (self.values.min(), self.values.max()))
                np.testing.assert_array_equal(left[1:], right[:-1])
                np.testing.assert_array_equal(shown[3][1], [[2.5, 2.5, 10]])

    def test_images(self):
        [event] = accumulated(os.path.join(self.folder.name, "run")).Images("digit")
        self.assertEqual((event.step, event.width, event.height), (3, 9, 5))
        self.assertEqual(event.encoded_image_string, self.png)
        for name, source in self.providers():
            with self.subTest(name):
                [point] = source.read_blob_sequences(
                    context.RequestContext(), experiment_id="", plugin_name="images", downsample=ALL,
                    run_tag_filter=provider.RunTagFilter(runs=["run"], tags=["digit"]))["run"]["digit"]
                self.assertEqual(point.step, 3)
                blobs = [source.read_blob(context.RequestContext(), blob_key=blob.blob_key)
                         for blob in point.values]
                self.assertEqual(blobs, [b"9", b"5", self.png])

    def test_texts(self):
        text = "batches of **128**, größer".encode()
        [event] = accumulated(os.path.join(self.folder.name, "run")).Tensors("notes")
        self.assertEqual(event.tensor_proto.dtype, types_pb2.DT_STRING)
        self.assertEqual(tensor_util.make_ndarray(event.tensor_proto).item(), text)
        for name, source in self.providers():
            with self.subTest(name):
                [(step, value)] = self.tensors(source, "text", "notes")
                self.assertEqual((step, value.item()), (3, text))

    def test_graphs(self):
        graph = accumulated(os.path.join(self.folder.name, "run")).Graph()
        self.assertEqual([(node.name, node.op, list(node.input), node.device) for node in graph.node],
                         [("kernel_0/dense", "dense", [], "/device:TPU:0"),
                          ("kernel_0/relu", "relu", ["kernel_0/dense"], "")])
        for node in graph.node:
            [shape] = node.attr["_output_shapes"].list.shape
            self.assertEqual([dim.size for dim in shape.dim], [32, 10])
        for name, source in self.providers():
            with self.subTest(name):
                [tag] = self.graphs_of(source)
                [point] = source.read_blob_sequences(
                    context.RequestContext(), experiment_id="", plugin_name="graphs", downsample=ALL,
                    run_tag_filter=provider.RunTagFilter(runs=["run"], tags=[tag]))["run"][tag]
                bytes_read = source.read_blob(context.RequestContext(), blob_key=point.values[0].blob_key)
                read = graph_pb2.GraphDef.FromString(bytes_read)
                self.assertEqual([node.name for node in read.node], [node.name for node in graph.node])


class Resuming(unittest.TestCase):

    @staticmethod
    def curves(folder):
        """Every curve of every run: its steps and values."""
        curves = {}
        for run in ("train", "validation", "steps"):
            events = accumulated(os.path.join(folder, "logs", run))
            for tag in events.Tags()["scalars"]:
                if tag.endswith("_wait"):
                    continue  # the clock's
                curves[run, tag] = [(point.step, point.value) for point in events.Scalars(tag)]
            for tag in events.Tags()["histograms"]:
                curves[run, tag] = [(point.step, point.histogram_value) for point in events.Histograms(tag)]
        return curves

    def test_a_killed_training_goes_on_with_its_curves(self):
        """Killed three times, each time behind points that its newest checkpoint doesn't know."""
        logging.getLogger("tensorboard").setLevel(logging.ERROR)  # it says what it drops
        with tempfile.TemporaryDirectory(prefix="infeed-interop-") as folder:
            whole, killed = os.path.join(folder, "whole"), os.path.join(folder, "killed")
            programs.train_with_curves(whole)
            for step in (9, 19, 35):
                programs.train_with_curves(killed, killed_at=step)
            programs.train_with_curves(killed)
            self.assertEqual(len(os.listdir(os.path.join(killed, "logs", "steps"))), 4)
            expected = self.curves(whole)
            self.assertEqual([step for step, _ in expected["steps", "batch_loss"]], [*range(2, 41, 2)])
            self.assertEqual([step for step, _ in expected["train", "epoch_loss"]], [*range(4)])
            self.assertIn(("train", "weights/hidden/kernel"), expected)
            self.assertIn(("train", "gradients/hidden/kernel"), expected)
            self.assertEqual(self.curves(killed), expected)


if __name__ == "__main__":
    unittest.main(verbosity=2)
