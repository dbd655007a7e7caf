"""Reading by URL from a store that checks signatures: rclone serves a folder as S3 does."""

import os
import pathlib
import random
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import programs

SEED = int(os.environ.get("INFEED_TEST_SEED", "20261121"))
KEY_ID, SECRET = "AKIDINTEROP", "interop/secret+key"
SERVER_START_SECONDS_MAX = 20


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def is_open(port):
    try:
        socket.create_connection(("127.0.0.1", port)).close()
        return True
    except OSError:
        return False


class Store:
    """rclone over a folder, whose own folders are the buckets."""

    def __init__(self, folder):
        rclone = os.path.join(os.path.dirname(sys.executable), "rclone")
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen(
            [rclone, "serve", "s3", "--config", os.devnull, "--auth-key", f"{KEY_ID},{SECRET}",
             "--addr", f"127.0.0.1:{port}", folder],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + SERVER_START_SECONDS_MAX
        while not is_open(port):
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise AssertionError("rclone does not start")

    def stop(self):
        self.process.kill()
        self.process.wait()


class Signed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="infeed-interop-")
        cls.addClassCleanup(cls.folder.cleanup)
        data = pathlib.Path(cls.folder.name, "bucket", "some data")
        data.mkdir(parents=True)
        chance = random.Random(SEED)
        cls.shards = []
        for i in range(3):
            records = [chance.randbytes(chance.randrange(9000)) for _ in range(400)]
            compression = "gzip" if i == 1 else "none"
            name = data / f"train-{i:05}-of-00003.tfrecord"
            programs.write_with_infeed(name, records, compression)
            cls.shards.append((name, f"s3://bucket/some data/{name.name}"))
        cls.store = Store(cls.folder.name)
        cls.addClassCleanup(cls.store.stop)

    def setUp(self):
        before = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(before)))
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            del os.environ[name]
        os.environ.update({
            "AWS_ENDPOINT_URL": self.store.url, "AWS_REGION": "eu-central-1",
            "AWS_SHARED_CREDENTIALS_FILE": os.path.join(self.folder.name, "credentials"),
            "AWS_CONFIG_FILE": os.devnull, "no_proxy": "127.0.0.1",
            "AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET})

    def test_records_are_those_of_the_files(self):
        for file, url in self.shards:
            self.assertEqual(programs.read_with_infeed(url), programs.read_with_infeed(file), url)

    def test_shards_are_found_by_a_pattern(self):
        said = programs.infeed("verify", "s3://bucket/some data/train-*.tfrecord")
        self.assertIn("3 record files: good: 3 files, 1,200 records", said)
        said = programs.infeed("inspect", "s3://bucket/some data/train-0000?-of-00003.tfrecord")
        self.assertIn("1,200 records", said)

    def test_a_profile_signs_too(self):
        del os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"]
        pathlib.Path(os.environ["AWS_SHARED_CREDENTIALS_FILE"]).write_text(
            f"[interop]\naws_access_key_id = {KEY_ID}\naws_secret_access_key = {SECRET}\n")
        os.environ["AWS_PROFILE"] = "interop"
        self.assertEqual(len(programs.read_with_infeed(self.shards[0][1])), 400)

    def expect_refusal(self, url, *said):
        with self.assertRaises(AssertionError) as refusal:
            programs.infeed("verify", url)
        for text in said:
            self.assertIn(text, str(refusal.exception))

    def test_a_wrong_secret_is_refused(self):
        os.environ["AWS_SECRET_ACCESS_KEY"] = "wrong"
        for url in (self.shards[0][1], "s3://bucket/some data/*"):
            self.expect_refusal(url, "permission_denied: the store refuses the credentials "
                                + KEY_ID, "SignatureDoesNotMatch", "check AWS_SECRET_ACCESS_KEY")

    def test_what_is_missing_is_named(self):
        self.expect_refusal("s3://bucket/nothing.tfrecord", "not_found: there is no such object")
        self.expect_refusal("s3://bucket/some data/test-*",
                            "no object matches 's3://bucket/some data/test-*'",
                            "no name begins with")
        self.expect_refusal("s3://other-bucket/x", "not_found: there is no bucket 'other-bucket'")

    def test_without_credentials_nothing_is_asked(self):
        del os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"]
        self.expect_refusal(self.shards[0][1], "there are no credentials for S3")


if __name__ == "__main__":
    unittest.main()
