# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""A server of Google Cloud Storage in memory that follows the published rules, for tests on loopback.

It has the JSON interface for requests with the token `TOKEN`, or with none, and that of XML for HMAC keys,
whose signatures it checks by an implementation of its own, or for the token. Generations are conditions of puts and
removals: 412 where they differ. Checksums of puts are compared.
"""

import hashlib
import hmac
import json
import re
import threading
import time
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, quote, unquote
from xml.sax.saxutils import escape

from s3_server import crc32c_text

ACCESS, SECRET, TOKEN = "GOOGTESTTESTTEST", "a secret/of+tests", "ya29.test"


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

    def told(self, value):
        self.answer(200, json.dumps(value), Content_Type="application/json")

    def problem(self, status, code):
        if self.is_json:
            self.answer(status, json.dumps({"error": {"code": status, "message": code}}))
        else:
            self.answer(status, f"<Error><Code>{code}</Code><Message>m</Message></Error>")

    def is_signed(self, path, query, body):
        headers = {name.lower(): " ".join(value.split()) for name, value in self.headers.items()}
        given = headers.get("authorization", "")
        if not given.startswith("GOOG4-HMAC-SHA256 "):
            return given == "Bearer " + TOKEN or (not given and self.server.open_to_all)
        fields = dict(part.strip().split("=", 1) for part in given.split(" ", 1)[1].split(","))
        if not {name for name in headers if name.startswith("x-goog-")} | {"host"} <= set(fields["SignedHeaders"].split(";")):
            return False
        payload = headers["x-goog-content-sha256"]
        if payload not in ("UNSIGNED-PAYLOAD", hashlib.sha256(body).hexdigest()):
            return False
        access, scope = fields["Credential"].split("/", 1)
        pairs = sorted((quote(name, safe="-_.~"), quote(value, safe="-_.~")) for name, value in parse_qsl(query, keep_blank_values=True))
        canonical = "\n".join(
            [self.command, quote(unquote(path), safe="/-_.~"), "&".join(f"{name}={value}" for name, value in pairs)]
            + [f"{name}:{headers.get(name, '')}" for name in fields["SignedHeaders"].split(";")] + ["", fields["SignedHeaders"], payload])
        text = "\n".join(["GOOG4-HMAC-SHA256", headers["x-goog-date"], scope, hashlib.sha256(canonical.encode()).hexdigest()])
        key = ("GOOG4" + SECRET).encode()
        for part in (*scope.split("/")[:3], "goog4_request", text):
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        return access == ACCESS and scope.endswith("/storage/goog4_request") and fields["Signature"] == key.hex()

    def handle_one(self):
        server, (path, _, query) = self.server, self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        arguments = dict(parse_qsl(query, keep_blank_values=True))
        json_path = re.fullmatch(r"(/upload|/download)?/storage/v1/b/([^/]+)(?:/o(?:/(.*))?)?", path)
        self.is_json = json_path is not None
        if not self.is_signed(path, query, body):
            return self.problem(401 if self.is_json else 403, "SignatureDoesNotMatch")
        with server.lock:
            if not self.is_json:
                return self.xml(unquote(path), arguments, body)
            kind, bucket, key = json_path.groups()
            if bucket != "bucket":
                return self.problem(404, "NoSuchBucket")
            if kind == "/upload":
                return self.upload(arguments, body)
            return self.object(unquote(key), arguments) if key else self.list(arguments)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = lambda self: self.handle_one()

    def is_met(self, held, wanted, other=None):
        """Whether the conditions of generations are met."""
        now = str(held["generation"] if held else 0)
        return not self.server.conditions or ((wanted is None or wanted == now) and (other is None or other != now))

    def upload(self, arguments, body):
        described = {}
        if arguments["uploadType"] == "multipart":
            boundary = re.search(r'boundary="?([^";]+)', self.headers["Content-Type"])[1].encode()
            parts = body.split(b"--" + boundary)
            described = json.loads(parts[1].split(b"\r\n\r\n", 1)[1])
            body = (b"--" + boundary).join(parts[2:-1]).split(b"\r\n\r\n", 1)[1][:-2]
        key = described.get("name") or arguments["name"]
        if not self.is_met(self.server.objects.get(key), arguments.get("ifGenerationMatch")):
            return self.problem(412, "conditionNotMet")
        if "crc32c" in described and described["crc32c"] != crc32c_text(body):
            return self.problem(400, "crc32c")
        self.told(self.about(key, self.server.store(key, body, described.get("metadata", {}))))

    def about(self, key, held):
        return {"kind": "storage#object", "name": key, "bucket": "bucket", "generation": str(held["generation"]), "metageneration": "1",
                "size": str(len(held["body"])), "crc32c": held["crc32c"], "metadata": held["meta"], "etag": f"C{held['generation']}",
                "timeCreated": "2026-11-28T12:00:00.000Z", "updated": "2026-11-28T12:00:00.000Z"}  # fmt: skip

    def object(self, key, arguments):
        held = self.server.objects.get(key)
        if held is None:
            return self.problem(404, "notFound")
        if not self.is_met(held, arguments.get("ifGenerationMatch"), arguments.get("ifGenerationNotMatch")):
            return self.problem(412 if "ifGenerationMatch" in arguments else 304, "conditionNotMet")
        if self.command == "DELETE":
            del self.server.objects[key]
            return self.answer(204)
        return self.get(held) if arguments.get("alt") == "media" else self.told(self.about(key, held))

    def get(self, held):
        body = held["body"]
        common = {"ETag": f"C{held['generation']}" if self.is_json else f'"{held["generation"]}"', "x_goog_generation": held["generation"],
                  "x_goog_hash": f"crc32c={held['crc32c']},md5=x", "x_goog_stored_content_length": len(body),
                  "x_goog_stored_content_encoding": "identity", "Last_Modified": held["modified"],
                  **{"x-goog-meta-" + name: value for name, value in held["meta"].items()}}  # fmt: skip
        if self.headers.get("If-Match", common["ETag"]) != common["ETag"]:
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

    def names(self, arguments, token):
        """Names of a list, each with whether it is an object, and whether more follow this page."""
        prefix, delimiter, names = arguments.get("prefix", ""), arguments.get("delimiter", ""), {}
        for key in sorted(self.server.objects):
            if key.startswith(prefix) and arguments.get("startOffset", "") <= key < arguments.get("endOffset", "\U0010ffff"):
                cut = key.find(delimiter, len(prefix)) if delimiter else -1
                names.setdefault(key if cut < 0 else key[: cut + 1], cut < 0)
        page = [(name, names[name]) for name in names if name > arguments.get(token, "")]
        return page[: self.server.page], len(page) > self.server.page

    def list(self, arguments):
        page, more = self.names(arguments, "pageToken")
        out = {"kind": "storage#objects"}
        if items := [self.about(name, self.server.objects[name]) for name, is_object in page if is_object]:
            out["items"] = items
        if prefixes := [name for name, is_object in page if not is_object]:
            out["prefixes"] = prefixes
        if more:
            out["nextPageToken"] = page[-1][0]
        self.told(out)

    def xml(self, path, arguments, body):
        server = self.server
        bucket, _, key = path[1:].partition("/")
        if bucket != "bucket":
            return self.problem(404, "NoSuchBucket")
        if not key:
            page, more = self.names(arguments, "continuation-token")
            text = "".join(f"<Contents><Key>{escape(name)}</Key><Size>1</Size></Contents>" if is_object
                           else f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>" for name, is_object in page)  # fmt: skip
            text += f"<IsTruncated>{'true' if more else 'false'}</IsTruncated>"
            text += f"<NextContinuationToken>{escape(page[-1][0])}</NextContinuationToken>" if more else ""
            return self.answer(200, f"<ListBucketResult>{text}</ListBucketResult>")
        meta = {name[12:].lower(): value for name, value in self.headers.items() if name.lower().startswith("x-goog-meta-")}
        if "uploads" in arguments:
            name = f"upload{len(server.uploads)}"
            server.uploads[name] = ({}, meta)
            return self.answer(200, f"<InitiateMultipartUploadResult><UploadId>{name}</UploadId></InitiateMultipartUploadResult>")
        if "uploadId" in arguments:
            return self.parts(key, arguments, body)
        held = server.objects.get(key)
        if self.command == "PUT":
            if not self.is_met(held, self.headers.get("x-goog-if-generation-match")):
                return self.problem(412, "PreconditionFailed")
            if "x-goog-hash" in self.headers and self.headers["x-goog-hash"] != "crc32c=" + crc32c_text(body):
                return self.problem(400, "BadDigest")
            return self.answer(200, x_goog_generation=server.store(key, body, meta)["generation"])
        if held is None:
            return self.problem(404, "NoSuchKey")
        if self.command == "DELETE":
            del server.objects[key]
            return self.answer(204)
        return self.get(held)

    def parts(self, key, arguments, body):
        server = self.server
        held = server.uploads.get(arguments["uploadId"])
        if held is None:
            return self.problem(404, "NoSuchUpload")
        if self.command == "PUT":
            held[0][int(arguments["partNumber"])] = body
            return self.answer(200, ETag=f'"{hashlib.md5(body).hexdigest()}"')
        del server.uploads[arguments["uploadId"]]
        if self.command == "DELETE":
            return self.answer(204)
        if re.findall(r"<PartNumber>(\d+)<", body.decode()) != [str(number + 1) for number in range(len(held[0]))]:
            return self.problem(400, "InvalidPart")
        server.store(key, b"".join(held[0][number] for number in sorted(held[0])), held[1])
        self.answer(200, "<CompleteMultipartUploadResult/>")


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.conditions, self.open_to_all, self.page, self.generation = True, True, 1000, int(time.time() * 1e6)
        self.objects, self.uploads, self.lock = {}, {}, threading.RLock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def store(self, key, body, meta):
        self.generation += 1
        checksum = crc32c_text(body) if len(body) < 1 << 20 else ""  # of large ones it takes its time
        self.objects[key] = {"body": body, "crc32c": checksum, "generation": self.generation, "modified": formatdate(time.time(), usegmt=True), "meta": meta}
        return self.objects[key]
