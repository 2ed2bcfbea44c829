# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""A server of S3 in memory that follows the published rules, for tests on loopback.

It checks signatures (version 4, of headers and of URLs) by an implementation of its own. It has the rules that few other
servers for tests have: quoted ETags, 404 for If-Match on a missing key, checksums of parts and of whole objects. With
`conditions=False` it ignores the conditions of a put, as some servers do.
"""

import base64
import hashlib
import hmac
import struct
import threading
import time
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, quote, unquote
from xml.sax.saxutils import escape

TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
    TABLE.append(byte)


def crc32c_text(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ TABLE[(crc ^ byte) & 255]
    return base64.b64encode(struct.pack(">I", crc ^ 0xFFFFFFFF)).decode()


def signature(secret, date, region, text):
    key = ("AWS4" + secret).encode()
    for part in (date[:8], region, "s3", "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", **headers):
        body = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", headers.get("length", len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def problem(self, status, code):
        self.answer(status, f"<Error><Code>{code}</Code><Message>m</Message></Error>", x_amz_request_id="R1")

    def is_signed(self, path, query, body):
        """Whether the signature is that of this request, and the hash that of the body."""
        server, headers = self.server, {name.lower(): " ".join(value.split()) for name, value in self.headers.items()}
        pairs = parse_qsl(query, keep_blank_values=True)
        if "authorization" in headers:
            fields = dict(part.strip().split("=", 1) for part in headers["authorization"].split(" ", 1)[1].split(","))
            date, payload = headers["x-amz-date"], headers["x-amz-content-sha256"]
            if payload not in ("UNSIGNED-PAYLOAD", hashlib.sha256(body).hexdigest()):
                return False
            needed = {name for name in headers if name.startswith("x-amz-")} | {"host"}
            if not needed <= set(fields["SignedHeaders"].split(";")):
                return False
        else:
            given = dict(pairs)
            if "X-Amz-Signature" not in given:
                return False
            fields = {"Credential": given["X-Amz-Credential"], "SignedHeaders": given["X-Amz-SignedHeaders"], "Signature": given["X-Amz-Signature"]}
            date, payload = given["X-Amz-Date"], "UNSIGNED-PAYLOAD"
            pairs = [one for one in pairs if one[0] != "X-Amz-Signature"]
        access, scope = fields["Credential"].split("/", 1)
        names = fields["SignedHeaders"].split(";")
        encoded = sorted((quote(name, safe="-_.~"), quote(value, safe="-_.~")) for name, value in pairs)
        canonical = "\n".join(
            [self.command, quote(unquote(path), safe="/-_.~"), "&".join(f"{name}={value}" for name, value in encoded)]
            + [f"{name}:{headers.get(name, '')}" for name in names] + ["", fields["SignedHeaders"], payload])
        text = "\n".join(["AWS4-HMAC-SHA256", date, scope, hashlib.sha256(canonical.encode()).hexdigest()])
        return access == server.access and fields["Signature"] == signature(server.secret, date, scope.split("/")[1], text)

    def handle_one(self):
        server = self.server
        path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if not self.is_signed(path, query, body):
            return self.problem(403, "SignatureDoesNotMatch")
        arguments = dict(parse_qsl(query, keep_blank_values=True))
        bucket, _, key = unquote(path)[1:].partition("/")
        if bucket != "bucket":
            return self.problem(404, "NoSuchBucket")
        with server.lock:
            server.log.append(f"{self.command} {key}")
            if not key:
                return self.list(arguments)
            if "uploads" in arguments or "uploadId" in arguments:
                return self.parts(key, arguments, body)
            held = server.objects.get(key)
            if self.command == "PUT":
                return self.put(key, body, held)
            if self.command == "DELETE":
                server.objects.pop(key, None)
                return self.answer(204)
            return self.problem(404, "NoSuchKey") if held is None else self.get(held)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = lambda self: self.handle_one()

    def put(self, key, body, held):
        server, none, match = self.server, self.headers.get("If-None-Match"), self.headers.get("If-Match")
        checksum = self.headers.get("x-amz-checksum-crc32c")
        if checksum and checksum != crc32c_text(body):
            return self.problem(400, "BadDigest")
        if server.conditions:
            if none == "*" and held is not None:
                return self.problem(412, "PreconditionFailed")
            if match and held is None:
                return self.problem(404, "NoSuchKey")
            if match and match != held["etag"]:
                return self.problem(412, "PreconditionFailed")
        self.answer(200, ETag=server.store(key, body, self.headers))

    def get(self, held):
        body, common = held["body"], {"ETag": held["etag"], "Last_Modified": held["modified"], **held["meta"]}
        if self.headers.get("If-Match", held["etag"]) != held["etag"]:
            return self.problem(412, "PreconditionFailed")
        if self.command == "HEAD":
            return self.answer(200, length=len(body), **common)
        first, last, given = 0, len(body) - 1, self.headers.get("Range")
        if given:
            left, right = given.removeprefix("bytes=").split("-")
            first, last = (int(left), min(int(right or last), last)) if left else (max(0, len(body) - int(right)), last)
            if first > last:
                return self.answer(416, Content_Range=f"bytes */{len(body)}", **common)
            return self.answer(206, body[first : last + 1], Content_Range=f"bytes {first}-{last}/{len(body)}", **common)
        return self.answer(200, body, **common)

    def parts(self, key, arguments, body):
        server = self.server
        if "uploads" in arguments:
            name = f"upload{len(server.log)}"
            server.uploads[name] = {}
            return self.answer(200, f"<InitiateMultipartUploadResult><UploadId>{name}</UploadId></InitiateMultipartUploadResult>")
        held = server.uploads.get(arguments["uploadId"])
        if held is None:
            return self.problem(404, "NoSuchUpload")
        if self.command == "PUT":
            if self.headers.get("x-amz-checksum-crc32c", crc32c_text(body)) != crc32c_text(body):
                return self.problem(400, "BadDigest")
            held[int(arguments["partNumber"])] = body
            return self.answer(200, ETag=f'"{hashlib.md5(body).hexdigest()}"')
        del server.uploads[arguments["uploadId"]]
        if self.command == "DELETE":
            return self.answer(204)
        whole = b"".join(held[number] for number in sorted(held))
        checksum = self.headers.get("x-amz-checksum-crc32c")
        if checksum and (checksum != crc32c_text(whole) or self.headers.get("x-amz-checksum-type") != "FULL_OBJECT"):
            return self.problem(400, "BadDigest")
        server.store(key, whole, {})
        self.answer(200, "<CompleteMultipartUploadResult/>")

    def list(self, arguments):
        prefix, delimiter = arguments.get("prefix", ""), arguments.get("delimiter", "")
        size, names = int(arguments.get("max-keys", 1000)), {}
        for key in sorted(self.server.objects):
            if key.startswith(prefix):
                cut = key.find(delimiter, len(prefix)) if delimiter else -1
                names.setdefault(key if cut < 0 else key[: cut + 1], cut < 0)
        page = [name for name in names if name > arguments.get("continuation-token", "")]
        text = "".join(
            f"<Contents><Key>{escape(name)}</Key><Size>{len(self.server.objects[name]['body'])}</Size><ETag>e</ETag>"
            f"<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>" if names[name]
            else f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>" for name in page[:size])
        more = len(page) > size
        text += f"<KeyCount>{len(page[:size])}</KeyCount><IsTruncated>{'true' if more else 'false'}</IsTruncated>"
        text += f"<NextContinuationToken>{escape(page[size - 1])}</NextContinuationToken>" if more else ""
        self.answer(200, f'<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">{text}</ListBucketResult>')


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, access="AKIATESTTESTTESTTEST", secret="a secret/of+tests", conditions=True):
        super().__init__(("127.0.0.1", 0), Handler)
        self.access, self.secret, self.conditions = access, secret, conditions
        self.objects, self.uploads, self.log, self.lock = {}, {}, [], threading.RLock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def store(self, key, body, headers):
        etag = f'"{hashlib.md5(body).hexdigest()}"'
        meta = {name: value for name, value in headers.items() if name.lower().startswith("x-amz-meta-")}
        self.objects[key] = {"body": body, "etag": etag, "modified": formatdate(time.time(), usegmt=True), "meta": meta}
        return etag
