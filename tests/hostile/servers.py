"""Servers that mean harm: they claim what they don't have, repeat themselves, and lead elsewhere."""

import contextlib
import http.server
import re
import threading

CLAIMED_BYTES = 3 << 30
SECRETS = ("authorization", "x-amz-security-token", "cookie")


class Harm(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):  # the commands' words are what is shown
        pass

    def answer(self, status, headers, body=b""):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        self.server.seen.append((self.path, {name.lower() for name in self.headers}))
        if self.path.startswith("/claims/"):
            self.claim()
        elif self.path.startswith("/elsewhere/"):
            # With a user in it, for whom a password is asked or given.
            self.answer(302, {"Location": f"http://user:swordfish@{self.server.other}/taken/x"})
        elif self.path.startswith("/circle/"):
            self.answer(302, {"Location": self.path})
        elif self.path.startswith("/file/"):
            self.answer(302, {"Location": "file:///etc/passwd"})
        elif "list-type=2" in self.path:
            self.answer(200, {}, LIST)
        elif self.path.startswith("/bucket/"):
            self.answer(307, {"Location": f"http://{self.server.other}/taken/bucket"})
        else:
            self.answer(404, {})

    def claim(self):
        """Of what is asked for all is promised, and ten bytes come."""
        if not self.path.endswith((".manifest.json", ".tfrecord")):
            self.answer(404, {})
            return
        first, last = 0, CLAIMED_BYTES - 1
        if asked := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", "")):
            first, last = int(asked[1]), min(last, int(asked[2] or last))
        self.close_connection = True
        self.answer(206 if asked else 200,
                    {"Content-Range": f"bytes {first}-{last}/{CLAIMED_BYTES}",
                     "Content-Length": str(last - first + 1), "ETag": '"1"'}, b"{" * 10)


LIST = b"""<?xml version="1.0"?><ListBucketResult><IsTruncated>true</IsTruncated>
<NextContinuationToken>same</NextContinuationToken>
<Contents><Key>data/a.tfrecord</Key><Size>1</Size></Contents></ListBucketResult>"""


@contextlib.contextmanager
def two_servers():
    """The one that is asked, and the one that it leads to; each knows what was asked of it."""
    servers = [http.server.ThreadingHTTPServer(("127.0.0.1", 0), Harm) for _ in range(2)]
    for server, other in zip(servers, reversed(servers)):
        server.seen = []
        server.other = f"127.0.0.1:{other.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield servers
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()


def was_told(server):
    """The first secret that was sent where it doesn't belong."""
    for path, names in server.seen:
        for name in SECRETS:
            if path.startswith("/taken/") and name in names:
                return f"{name} went to another server, with {path}"
    return ""
