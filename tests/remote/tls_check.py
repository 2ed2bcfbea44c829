# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""TLS, HTTP/2, proxies and redirects: tls_check.py PROGRAM FOLDER, where PROGRAM is examples/docs/remote_curl.cpp.

nginx serves a file by TLS and HTTP/2, with a certificate that an authority made here has signed. A proxy and a hub, which
redirects as Hugging Face's does, are of this script. All listen on loopback, and what was started is stopped.
"""

import base64
import http.server
import json
import os
import select
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

PROGRAM, FOLDER = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
NGINX = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
NAMES = ["layer.b", "layer.w"]


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], cwd=FOLDER, check=True, capture_output=True)


def make_certificates():
    for name in ("house", "other"):
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", f"{name}.key", "-out", f"{name}.pem",
                "-subj", f"/CN=authority {name}")  # fmt: skip
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=localhost")
    (FOLDER / "names").write_text("subjectAltName=DNS:localhost")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "house.pem", "-CAkey", "house.key", "-CAcreateserial", "-days", "2",
            "-out", "server.pem", "-extfile", "names")  # fmt: skip


def make_file(path):
    data = struct.pack("<6f", *range(6))
    head = {name: {"dtype": "F32", "shape": [3], "data_offsets": [12 * i, 12 * i + 12]} for i, name in enumerate(NAMES)}
    text = json.dumps(head).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


class Proxy(threading.Thread):
    """Forwards CONNECT, and GET of whole URLs; notes what it was asked."""

    def __init__(self):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.asked = []
        self.start()

    def run(self):
        while True:
            one, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=[one], daemon=True).start()

    def serve(self, one):
        head = b""
        while b"\r\n\r\n" not in head:
            part = one.recv(65536)
            if not part:
                return
            head += part
        lines = head.decode().split("\r\n")
        method, target, _ = lines[0].split(" ")
        headers = {line.split(":", 1)[0].lower(): line.split(":", 1)[1].strip() for line in lines[1:] if ":" in line}
        self.asked.append((method, target, headers.get("proxy-authorization", "")))
        if method == "CONNECT":
            to = socket.create_connection(("127.0.0.1", int(target.rsplit(":", 1)[1])))
            one.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        else:
            place = target.split("//", 1)[1]
            to = socket.create_connection(("127.0.0.1", int(place.split("/", 1)[0].rsplit(":", 1)[1])))
            to.sendall(head.replace(target.encode(), b"/" + place.split("/", 1)[1].encode(), 1))
        while True:
            for ready in select.select([one, to], [], [])[0]:
                part = ready.recv(65536)
                if not part:
                    one.close(), to.close()
                    return
                (to if ready is one else one).sendall(part)


class Hub(http.server.BaseHTTPRequestHandler):
    """Leads from `/NAME/resolve/main/FILE` to another host, as Hugging Face's hub does."""

    protocol_version = "HTTP/1.1"
    asked, leads_to = [], ""

    def do_GET(self):
        self.asked.append((self.path, self.headers.get("Authorization", "")))
        self.send_response(302 if "/resolve/" in self.path else 404)
        if "/resolve/" in self.path:
            self.send_header("Location", Hub.leads_to)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def start_hub():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(FOLDER / "server.pem", FOLDER / "server.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def start_nginx(secure, plain):
    (FOLDER / "nginx.conf").write_text(f"""
daemon off; master_process off; pid {FOLDER}/nginx.pid; error_log {FOLDER}/error.log;
events {{}}
http {{
  log_format told '$server_protocol $status $request_uri auth=$http_authorization';
  access_log {FOLDER}/access.log told;
  client_body_temp_path {FOLDER}/body; proxy_temp_path {FOLDER}/proxy; fastcgi_temp_path {FOLDER}/fastcgi;
  uwsgi_temp_path {FOLDER}/uwsgi; scgi_temp_path {FOLDER}/scgi;
  server {{
    listen 127.0.0.1:{secure} ssl http2; listen 127.0.0.1:{plain}; root {FOLDER}/www;
    ssl_certificate {FOLDER}/server.pem; ssl_certificate_key {FOLDER}/server.key;
  }}
}}
""")
    server = subprocess.Popen([NGINX, "-c", FOLDER / "nginx.conf", "-p", FOLDER], stderr=subprocess.DEVNULL)
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", secure)).close()
            return server
        except OSError:
            time.sleep(0.1)
    server.kill()
    raise SystemExit("nginx does not start: " + (FOLDER / "error.log").read_text())


def run(url, **environment):
    """The names that the program prints, or what it says instead; and what nginx was asked for it."""
    log = FOLDER / "access.log"
    before = log.stat().st_size if log.exists() else 0
    own = {"PATH": os.environ["PATH"], **environment}
    done = subprocess.run([PROGRAM, url], env=own, capture_output=True, text=True, timeout=120)
    asked = log.read_text()[before:].splitlines() if log.exists() else []
    return (sorted(done.stdout.split()) if done.returncode == 0 else done.stdout + done.stderr), asked


def check(what, holds, *shown):
    if not holds:
        raise SystemExit(f"FAILED: {what}: {shown}")
    print(f"ok: {what}")


def main():
    if NGINX is None or shutil.which("openssl") is None:
        return print("skipped: no nginx, or no openssl (Debian: nginx-light openssl)")
    shutil.rmtree(FOLDER, ignore_errors=True)
    (FOLDER / "www").mkdir(parents=True)
    make_certificates()
    make_file(FOLDER / "www" / "m.safetensors")
    secure, plain = free_port(), free_port()
    url, plain_url = f"https://localhost:{secure}/m.safetensors", f"http://localhost:{plain}/m.safetensors"
    house = {"CURL_CA_BUNDLE": str(FOLDER / "house.pem")}
    server = start_nginx(secure, plain)
    try:
        for name in ("CURL_CA_BUNDLE", "SSL_CERT_FILE"):
            said, asked = run(url, **{name: str(FOLDER / "house.pem")})
            check(f"{name} names the authority to trust", said == NAMES, said)
        check("HTTP/2 is spoken where it is offered, by ranges", asked and all(one.startswith("HTTP/2.0 206 ") for one in asked), asked)
        for trusted in ({}, {"CURL_CA_BUNDLE": str(FOLDER / "other.pem")}):
            said, asked = run(url, **trusted)
            check("an authority that is not trusted is an error, with its cure", "io: " in said and "ca_file" in said and not asked, said, asked)
        said, asked = run(url.replace("localhost", "127.0.0.1"), **house)
        check("so is another name than that of the certificate", "io: " in said and "ca_file" not in said and not asked, said, asked)
        said, _ = run(url, CURL_CA_BUNDLE=str(FOLDER / "none.pem"))
        check("and a bundle that is not there, by its name", "none.pem" in said, said)

        proxy = Proxy()
        at = f"http://user:word@127.0.0.1:{proxy.port}"
        said, _ = run(url, https_proxy=at, **house)
        told = "Basic " + base64.b64encode(b"user:word").decode()
        check("https_proxy is used", said == NAMES and {one[0] for one in proxy.asked} == {"CONNECT"}, said, proxy.asked)
        check("with its credentials", all(one[2] == told for one in proxy.asked), proxy.asked)
        proxy.asked.clear()
        said, _ = run(plain_url, http_proxy=at)
        check("http_proxy is used", said == NAMES and {one[1] for one in proxy.asked} == {plain_url}, said, proxy.asked)
        proxy.asked.clear()
        said, _ = run(url, https_proxy=at, no_proxy="example.org,localhost", **house)
        check("no_proxy is honoured", said == NAMES and not proxy.asked, said, proxy.asked)
        said, asked = run(url, https_proxy=f"http://user:word@127.0.0.1:{free_port()}", **house)
        check("a proxy that is away is an error without its credentials", "unavailable" in said and "word" not in said and not asked, said)

        hub = start_hub()
        Hub.leads_to = f"{url}?X-Amz-Signature=abc%2Fdef&Expires=1"
        own = f"https://localhost:{hub}"
        said, asked = run(f"{own}/name/resolve/main/m.safetensors", HF_ENDPOINT=own, HF_TOKEN="hf_secret", **house)
        check("a URL `resolve` of a hub leads to the file", said == NAMES, said)
        check("the hub gets the token", Hub.asked and all(one[1] == "Bearer hf_secret" for one in Hub.asked), Hub.asked)
        check("the other host gets the query as it is, and no token",
              asked and all(one.endswith("auth=-") and "?X-Amz-Signature=abc%2Fdef&Expires=1" in one for one in asked), asked)  # fmt: skip
        Hub.leads_to = plain_url
        said, asked = run(f"{own}/name/resolve/main/m.safetensors", **house)
        check("a redirect from https to http is an error", isinstance(said, str) and not asked, said)
    finally:
        server.kill()
        server.wait()
    return print("TLS, HTTP/2, proxies, redirects: ok")


main()
