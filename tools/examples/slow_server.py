#!/usr/bin/env python3
"""Serves a folder over HTTP as slow storage would: each answer waits. For trying `infeed profile`.

    tools/examples/slow_server.py FOLDER [--port 8000] [--delay-ms 40]
"""

import argparse
import http.server
import os
import re
import time


class SlowHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, has_body):
        path = os.path.join(self.server.folder, os.path.basename(self.path))
        try:
            with open(path, "rb") as file:
                content = file.read()
        except OSError:
            self.send_error(404)
            return
        time.sleep(self.server.delay_s)
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if wanted:
            begin = int(wanted[1])
            end = min(int(wanted[2] or len(content) - 1), len(content) - 1)
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {begin}-{end}/{len(content)}")
            content = content[begin:end + 1]
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("ETag", f'"{os.stat(path).st_mtime_ns}"')
        self.send_header("Accept-Ranges", "bytes")
        self.end_headers()
        if has_body:
            try:
                self.wfile.write(content)
            except ConnectionError:  # the reader has what it wanted, or is gone
                self.close_connection = True

    def do_GET(self):
        self.answer(True)

    def do_HEAD(self):
        self.answer(False)

    def log_message(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--delay-ms", type=float, default=40)
    options = parser.parse_args()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", options.port), SlowHandler)
    server.folder = options.folder
    server.delay_s = options.delay_ms / 1000
    server.serve_forever()


if __name__ == "__main__":
    main()
