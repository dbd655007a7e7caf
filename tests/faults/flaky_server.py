"""A server of files over HTTP, of which one answer is wrong, late or elsewhere, and takes what is put there."""

import http.server
import re
import socket
import threading

# What each does to the answer whose turn it is; `from` then says that all later ones get the same.
KINDS = ("stall", "cut", "reset", "garbage", "once", "error-from", "gone-from", "denied-from", "redirect",
         "circle-from", "long", "changed-from", "whole", "other-range", "empty")


class Site:
    """What one worker sees: a folder, what was put there, and which answer is wrong."""

    def __init__(self, folder):
        self.folder = folder
        self.lock = threading.Lock()
        self.has_ended = threading.Event()
        self.reset()

    def reset(self, kind="", number=0):
        self.has_ended.set()
        with self.lock:
            self.kind, self.number, self.answers, self.stored = kind, number, 0, {}
            self.told = set()  # paths of which a version was told: only such files can change
            self.has_ended = threading.Event()

    def fault_of_next(self):
        with self.lock:
            self.answers += 1
            is_hit = self.answers == self.number or (
                self.kind.endswith("-from") and self.answers > self.number > 0)
            return self.kind.removesuffix("-from") if is_hit else ""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def find(self):
        """The site, the path in it, and what goes wrong."""
        _, name, *path = self.path.split("/")
        site = self.server.sites[name.removesuffix("-moved")]
        return site, "/".join(path), "" if name.endswith("-moved") else site.fault_of_next()

    def is_spoilt(self, site, path, fault):
        """Does what is wrong whatever was asked. Returns whether that was all."""
        if fault == "stall":
            site.has_ended.wait()
            self.close_connection = True
        elif fault == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            self.connection.close()
            self.close_connection = True
        elif fault == "garbage":
            self.wfile.write(b"\x16\x03\x01 this is no HTTP\r\n\r\n")
            self.close_connection = True
        elif fault in ("once", "error"):
            self.answer(503)
        elif fault == "gone":
            self.answer(404)
        elif fault == "denied":
            self.answer(403)
        elif fault in ("redirect", "circle"):
            name = self.path.split("/")[1] + ("-moved" if fault == "redirect" else "")
            self.answer(307, Location=f"http://{self.headers['Host']}/{name}/{path}")
        else:
            return False
        return True

    def do_GET(self):
        site, path, fault = self.find()
        if self.is_spoilt(site, path, fault):
            return
        content = site.stored.get(path)
        if content is None and (site.folder / path).is_file():
            content = (site.folder / path).read_bytes()
        if content is None:
            self.answer(404)
            return
        is_changed = fault == "changed" and path in site.told
        site.told.add(path)
        headers = {"ETag": '"2"' if is_changed else '"1"', "Accept_Ranges": "bytes"}
        if headers["ETag"] != self.headers.get("If-Match", headers["ETag"]):
            self.answer(412)
            return
        status, size = 200, len(content)
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if asked and fault != "whole":
            begin, end = int(asked[1]), min(int(asked[2] or size - 1), size - 1)
            if begin >= size:
                self.answer(416, Content_Range=f"bytes */{size}")
                return
            content = content[begin:end + 1]
            begin += fault == "other-range"
            total = size + 1000 if fault == "long" else size
            status = 206
            headers["Content_Range"] = f"bytes {begin}-{begin + len(content) - 1}/{total}"
        if fault == "empty":
            content = b""
        if fault == "cut":
            headers["Content_Length"] = str(len(content))
            content = content[:len(content) // 2]
            self.close_connection = True
        self.answer(status, content, **headers)

    do_HEAD = do_GET

    def do_PUT(self):
        site, path, fault = self.find()
        size = int(self.headers.get("Content-Length", 0))
        if fault == "cut":
            self.rfile.read(size // 2)
            self.connection.close()
            self.close_connection = True
            return
        content = self.rfile.read(size)
        if self.is_spoilt(site, path, fault):
            return
        if self.headers.get("If-None-Match") == "*" and path in site.stored:
            self.answer(412)
            return
        site.stored[path] = content
        self.answer(200)

    def do_DELETE(self):
        site, path, fault = self.find()
        if not self.is_spoilt(site, path, fault):
            site.stored.pop(path, None)
            self.answer(204)


class FlakyServer(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.sites = {}
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        pass  # a client that was killed

    def add(self, name, folder):
        self.sites[name] = Site(folder)
        return self.sites[name], f"http://127.0.0.1:{self.server_port}/{name}"
