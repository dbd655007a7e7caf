"""Uploads to a store that checks signatures, with botocore as a second referee of each request.

rclone serves a folder as S3 does. A proxy in front of it lets botocore sign each request anew, from what it means, and
compares the results. botocore encodes, sorts and hashes by its own code.
"""

import datetime
import hashlib
import http.client
import http.server
import os
import pathlib
import random
import tempfile
import threading
import unittest
import urllib.parse
from unittest import mock

import botocore.auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

import programs
from test_urls import KEY_ID, SECRET, SEED, Store

REGION = "eu-central-1"
TOKEN = "session/token+with=signs=="
# In names of objects each of these is written in another way by some clients.
FOLDER = "it's (1) a+b=c&d~é"


def signed_by_botocore(method, path, query, headers, body):
    """The header Authorization that botocore would send."""
    own = {"host", "x-amz-date", "x-amz-content-sha256", "x-amz-security-token", "authorization"}
    request = AWSRequest(
        method=method, url=f"http://{headers['host']}{path}", params=query, data=body,
        headers={name: value for name, value in headers.items() if name not in own})
    time = datetime.datetime.strptime(headers["x-amz-date"], "%Y%m%dT%H%M%SZ")
    credentials = Credentials(KEY_ID, SECRET, headers.get("x-amz-security-token"))
    with mock.patch("botocore.auth.get_current_datetime", return_value=time):
        botocore.auth.S3SigV4Auth(credentials, "s3", REGION).add_auth(request)
    return request.headers["Authorization"]


class Referee(http.server.BaseHTTPRequestHandler):
    """Notes what is wrong with a request, and hands it on to the store."""
    protocol_version = "HTTP/1.1"

    def serve(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        path, _, query = self.path.partition("?")
        self.server.seen.append((self.command, path, query, headers))
        self.judge(path, query, headers, body)
        store = http.client.HTTPConnection(self.server.store, timeout=60)
        store.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            store.putheader(name, value)
        store.endheaders(body)
        answer = store.getresponse()
        text = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "connection"):
                self.send_header(name, value)
        if answer.getheader("Content-Length") is None and answer.status != 204:
            self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
        store.close()

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = serve

    def judge(self, path, query, headers, body):
        def wrong(what):
            self.server.wrong.append(f"{self.command} {self.path}: {what}")

        if headers.get("x-amz-content-sha256") != hashlib.sha256(body).hexdigest():
            wrong("x-amz-content-sha256 isn't the body's")
        meant = urllib.parse.quote(urllib.parse.unquote(path), safe="/~")
        if path != meant:
            wrong(f"the path is {path}, botocore would send {meant}")
        signed = headers["authorization"].partition("SignedHeaders=")[2].partition(",")[0].split(";")
        # What Amazon's documentation wants to be signed, and what changes the meaning of the request.
        for name in headers:
            if (name.startswith("x-amz-") or name in ("host", "content-type", "if-none-match", "range")) \
                    and name not in signed:
                wrong(f"{name} isn't signed")
        by_botocore = signed_by_botocore(
            self.command, meant, dict(urllib.parse.parse_qsl(query, keep_blank_values=True)),
            {name: headers[name] for name in signed}, body)
        if headers["authorization"] != by_botocore:
            wrong(f"{headers['authorization']} differs from botocore's {by_botocore}")

    def log_message(self, *arguments):
        pass


class Uploads(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        made = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="infeed-interop-"))
        cls.records = os.path.join(made, "records.tfrecord")
        chance = random.Random(SEED)
        # Two shards, each of more than one part of 16 MiB.
        programs.write_with_infeed(
            cls.records, [chance.randbytes(1 << 20) for _ in range(36)], "none")

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory(prefix="infeed-interop-"))
        pathlib.Path(self.folder, "store", "bucket").mkdir(parents=True)
        store = Store(os.path.join(self.folder, "store"))
        self.addCleanup(store.stop)
        self.referee = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Referee)
        self.referee.daemon_threads = True
        self.referee.store = store.url.removeprefix("http://")
        self.referee.seen, self.referee.wrong = [], []
        threading.Thread(target=self.referee.serve_forever, daemon=True).start()
        self.addCleanup(self.referee.server_close)
        self.addCleanup(self.referee.shutdown)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        self.enterContext(mock.patch.dict(os.environ, {
            **kept, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.referee.server_port}",
            "AWS_REGION": REGION, "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull, "no_proxy": "127.0.0.1",
            "AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_SESSION_TOKEN": TOKEN}, clear=True))
    def reshard(self, *more):
        return programs.infeed("reshard", self.records, "--name", "train", "--shards", "2", *more)

    def reshard_into_store(self, *more):
        return self.reshard("-o", f"s3://bucket/{FOLDER}", "--work",
                            os.path.join(self.folder, "work"), *more)

    def test_each_request_of_an_upload_is_signed_as_botocore_signs_it(self):
        self.reshard_into_store()
        self.assertEqual(self.referee.wrong, [])
        self.reshard("-o", os.path.join(self.folder, "here"))
        here = {file.name: file.read_bytes() for file in pathlib.Path(self.folder, "here").iterdir()}
        stored = {file.name: file.read_bytes()
                  for file in pathlib.Path(self.folder, "store", "bucket", FOLDER).iterdir()}
        self.assertEqual(stored.keys(), here.keys())
        for name, content in here.items():
            self.assertEqual(stored[name], content, name)

        def count(method, query):
            return sum(seen[0] == method and query in seen[2] for seen in self.referee.seen)
        self.assertEqual(count("POST", "uploads="), 2)
        self.assertEqual(count("PUT", "partNumber=2"), 2)
        puts = [seen for seen in self.referee.seen if seen[0] == "PUT"]
        self.assertTrue(puts[-1][1].endswith("train.manifest.json"))
        self.assertEqual(puts[-1][3]["if-none-match"], "*")
        self.assertIn("complete already", self.reshard_into_store())

    def test_parts_are_listed_fetched_and_removed_by_signed_requests(self):
        for share in ("0/2", "1/2"):
            self.reshard_into_store("--shard", share)
        self.reshard_into_store("--finish", "--check")
        methods = {seen[0] for seen in self.referee.seen}
        self.assertLessEqual({"GET", "PUT", "POST", "DELETE"}, methods)
        self.assertEqual(self.referee.wrong, [])
        left = os.listdir(os.path.join(self.folder, "store", "bucket", FOLDER))
        self.assertEqual([name for name in left if name.endswith(".journal")], [])

    def test_a_wrong_secret_uploads_nothing(self):
        os.environ["AWS_SECRET_ACCESS_KEY"] = "wrong"
        with self.assertRaises(AssertionError) as refusal:
            self.reshard_into_store()
        self.assertIn("SignatureDoesNotMatch", str(refusal.exception))
        self.assertTrue(any("differs from botocore's" in wrong for wrong in self.referee.wrong))
        self.assertEqual(os.listdir(os.path.join(self.folder, "store", "bucket")), [])


if __name__ == "__main__":
    unittest.main()
