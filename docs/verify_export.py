#!/usr/bin/env python3
"""Verifies a Wakeful export with nothing but Python's standard library.

Usage: verify_export.py EXPORT KEY

KEY is the log's verifier key (name+hash+key), which you got from somewhere
other than the export. If the log has changed its key since, the keys it was
handed over to are followed. Written from docs/trail-format.md alone; it shares no
code with Wakeful. Exit status 0 when everything holds, 1 with the first bad
entry otherwise.
"""

import base64
import binascii
import datetime
import hashlib
import json
import re
import sys

MAX_INTEGER = 2**53 - 1
HEADER_FIELDS = {"actor", "event_type", "id", "local_prev", "local_seq", "parts",
                 "stream", "time", "v", "workspace"}
TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z", re.ASCII)


class Bad(Exception):
    pass


class Cut(Bad):
    """Content is absent, and it says where itself."""


def need(condition, why):
    if not condition:
        raise Bad(why)


# --- encodings ---------------------------------------------------------------

def canonical(value):
    """RFC 8785 for values without floats."""
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(f"{canonical(k)}:{canonical(value[k])}" for k in keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    need(not isinstance(value, float), "a float")
    return json.dumps(value, ensure_ascii=False)


def read_line(raw):
    """One canonical JSON object; writing it again must give the same bytes."""
    try:
        value = json.loads(raw.decode("utf-8"))
        need(isinstance(value, dict) and canonical(value).encode("utf-8") == raw, "not canonical")
    except (ValueError, RecursionError) as error:
        raise Bad(f"not JSON: {error}") from None
    return value


def unhex(text):
    need(isinstance(text, str) and re.fullmatch("[0-9a-f]{64}", text), "not 64 hex digits")
    return bytes.fromhex(text)


def unbase64(text):
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise Bad("not base64") from None
    need(base64.b64encode(data).decode() == text, "not the one spelling of base64")
    return data


def number(value):
    need(type(value) is int and 0 <= value <= MAX_INTEGER, "not a number")
    return value


# --- hashes ------------------------------------------------------------------

def sha256(*pieces):
    return hashlib.sha256(b"".join(pieces)).digest()


def tagged(domain, *pieces):
    return sha256(domain.encode(), b"\0", *pieces)


class Tree:
    """RFC 6962, kept as the roots of complete subtrees."""

    def __init__(self):
        self.size, self.peaks = 0, []

    def push(self, entry_hash):
        node, size = sha256(b"\0", entry_hash), self.size
        while size & 1:
            node, size = sha256(b"\1", self.peaks.pop(), node), size >> 1
        self.peaks.append(node)
        self.size += 1

    def root(self):
        if not self.peaks:
            return sha256()
        node = self.peaks[-1]
        for left in reversed(self.peaks[:-1]):
            node = sha256(b"\1", left, node)
        return node


# --- Ed25519 (RFC 8032), for checking only -----------------------------------

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P


def add(p, q):
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % P, (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * p[3] * q[3] * D % P, 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def times(n, p):
    result = (0, 1, 1, 0)
    while n:
        if n & 1:
            result = add(result, p)
        p, n = add(p, p), n >> 1
    return result


def point(data):
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & (2**255 - 1)
    need(y < P, "not a point")
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    need((x * x - square) % P == 0 and not (x == 0 and sign), "not a point")
    x = P - x if x & 1 != sign else x
    # A point of small order would fit messages its owner never signed.
    need(times(8, (x, y, 1, x * y % P))[0] != 0, "a weak point")
    return (x, y, 1, x * y % P)


BASE = point(bytes([0x58] + [0x66] * 31))


def signed(public, message, signature):
    a, r = point(public), point(signature[:32])
    s = int.from_bytes(signature[32:], "little")
    need(s < L, "not a signature")
    k = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % L
    left, right = times(s, BASE), add(r, times(k, a))
    return all((left[n] * right[2] - right[n] * left[2]) % P == 0 for n in (0, 1))


def read_key(key):
    """A verifier key's name, short hash and public bytes."""
    need(isinstance(key, str) and key.count("+") >= 2, "not a key")
    name, key_id, public = key.split("+", 2)
    public = unbase64(public)
    need(len(public) == 33 and public[0] == 1, "not an Ed25519 key")
    identity = sha256(name.encode(), b"\n", public)[:4]
    need(identity.hex() == key_id, "the key's hash does not fit")
    return name, identity, public[1:]


def read_body(note):
    """What a note says: origin, size and root, whoever signed it."""
    need(isinstance(note, str) and len(note.encode()) <= 64 * 1024, "not a note")
    body, gap, _ = note.partition("\n\n")
    lines = body.split("\n")
    need(gap and len(lines) == 3, "not a checkpoint")
    need(re.fullmatch("0|[1-9][0-9]{0,15}", lines[1]), "not a size")
    root = unbase64(lines[2])
    need(len(root) == 32, "not a root")
    return lines[0], number(int(lines[1])), root


def open_note(note, key):
    """The size and root of a checkpoint that the key signed."""
    name, identity, public = read_key(key)
    origin, size, root = read_body(note)
    body, _, signatures = note.partition("\n\n")
    lines = signatures.split("\n")
    need(lines.pop() == "" and len(lines) <= 100, "not a signed note")
    ours = []
    for line in lines:
        fields = line.split(" ")
        need(len(fields) == 3 and fields[0] == "\u2014" and fields[1] and "+" not in fields[1],
             "not a signature line")
        data = unbase64(fields[2])
        need(len(data) > 4, "not a signature")
        if fields[1] == name and data[:4] == identity:
            ours.append(data[4:])
    need(len(ours) == 1 and len(ours[0]) == 64, "not signed by this key")
    need(signed(public, (body + "\n").encode(), ours[0]), "the signature does not fit")
    need(origin == name, "not this log's checkpoint")
    return size, root


def handed_over(facts):
    """The old and the new key of a rotation that both signed."""
    need(isinstance(facts, dict) and set(facts) == {"new_key", "new_signature", "old_key", "old_signature"},
         "not a change of key")
    old, new = facts["old_key"], facts["new_key"]
    need(read_key(old)[0] == read_key(new)[0] and old != new, "not two keys of one log")
    message = f"wakeful/rotation/1\0{old}\n{new}\n".encode()
    for which in ("old", "new"):
        signature = facts[f"{which}_signature"]
        need(isinstance(signature, str) and re.fullmatch("[0-9a-f]{128}", signature), "not a signature")
        need(signed(read_key(facts[f"{which}_key"])[2], message, bytes.fromhex(signature)),
             f"the {which} key did not sign the change")
    return old, new


def read_facts(part):
    try:
        facts = json.loads(unbase64(part["bytes"]))
    except ValueError:
        raise Bad("not facts") from None
    need(isinstance(facts, dict), "not facts")
    return facts


# --- the log -----------------------------------------------------------------

class Log:
    def __init__(self, key):
        self.tree, self.streams, self.locals = Tree(), {}, {}
        self.trusted, self.named = [key], None
        self.time, self.erased = "", 0
        self.bare, self.named_erased = {}, {}

    def entry(self, line):
        need(set(line) == {"entry_hash", "header", "parts", "position", "prev_hash", "seq"}, "fields")
        need(number(line["position"]) == self.tree.size, f"it says it stands at {line['position']}")
        header = line["header"]
        need(isinstance(header, dict) and set(header) == HEADER_FIELDS and header["v"] == 1
             and type(header["v"]) is int, "not a header")
        texts = [header[field] for field in ("actor", "event_type", "id", "stream", "time")]
        need(all(isinstance(text, str) for text in texts), "not a header")
        self.parts(header["parts"], line["parts"])
        self.in_time(header["time"])
        local_hash = tagged("wakeful/local/1", canonical(header).encode())
        seq, prev = self.streams.get(header["stream"], (0, None))
        need(number(line["seq"]) == seq, f"its number should be {seq}")
        need(line["prev_hash"] == (prev and prev.hex()), "it does not follow its stream")
        hashed = tagged("wakeful/entry/1", prev or bytes(32), seq.to_bytes(8, "big"), local_hash)
        need(line["entry_hash"] == hashed.hex(), "its content does not give its hash")
        self.local(header, local_hash)
        self.turn(header["event_type"], line["parts"]["facts"])
        self.erasure(header["event_type"], line["parts"])
        self.streams[header["stream"]] = (seq + 1, hashed)
        self.tree.push(hashed)

    def turn(self, event_type, facts):
        """The log starts, changes its key, or goes on from a backup or a damage."""
        if event_type not in ("log_started", "log_key_rotated", "log_restored", "log_continued"):
            return
        facts = read_facts(facts)
        if event_type == "log_key_rotated":
            old, new = handed_over(facts)
            need(self.named in (None, old), "it hands over from a key that is not the current one")
            if self.trusted[-1] == old:
                self.trusted.append(new)
            self.named = new
            return
        if event_type == "log_restored":
            _, size, root = read_body(facts.get("old_checkpoint"))
            need((size, root) == (self.tree.size, self.tree.root()),
                 "it was restored from a log that is not the one before it")
        if event_type == "log_continued":
            here, root = self.tree.size, self.tree.root()
            _, size, signed = read_body(facts.get("old_checkpoint"))
            need(number(facts.get("kept")) == here and facts.get("root") == root.hex()
                 and number(facts.get("missing")) == max(size - here, 0)
                 and (size != here or signed == root),
                 "it says that the log goes on from another place than this")
        read_key(facts.get("key"))
        self.named = facts["key"]

    def erasure(self, event_type, parts):
        """Content of a delivery is absent, or an entry says whose was erased."""
        absent = any(content is None for content in parts.values())
        if not absent and event_type != "content_erased":
            return
        facts = read_facts(parts["facts"])
        if event_type == "content_erased" and isinstance(facts.get("delivery_ids"), list):
            self.named_erased.update({id: self.tree.size for id in facts["delivery_ids"] if isinstance(id, str)})
        if absent and isinstance(facts.get("delivery_id"), str):
            self.bare.setdefault(facts["delivery_id"], []).append(self.tree.size)

    def cut(self):
        """The first entry whose content is absent although none after it says that it was erased."""
        cut = [at for id, bare in self.bare.items() for at in bare if at > self.named_erased.get(id, -1)]
        return min(cut, default=None)

    def parts(self, named, given):
        need(isinstance(named, list) and len(named) <= 64 and isinstance(given, dict), "parts")
        need(all(isinstance(part, dict) and set(part) == {"commitment", "name"} for part in named), "parts")
        names = [part["name"] for part in named]
        need(all(isinstance(name, str) for name in names) and len(names) == len(given)
             and set(names) == set(given), "its parts are not those its header names")
        need(given.get("facts") is not None, "its facts are missing")
        for part in named:
            commitment, content = unhex(part["commitment"]), given[part["name"]]
            if content is None:
                self.erased += 1
                continue
            need(isinstance(content, dict) and set(content) == {"bytes", "salt"}, "not a part")
            found = tagged("wakeful/part/1", unhex(content["salt"]), unbase64(content["bytes"]))
            need(found == commitment, f"its part {part['name']} is not the one committed to")

    def in_time(self, time):
        need(TIME.fullmatch(time), "not a time")
        try:
            # Python knows no year 0; the calendar of 400 years later is the same.
            year = int(time[:4]) or 400
            datetime.datetime.fromisoformat(f"{year:04}{time[4:26]}")
        except ValueError:
            raise Bad("not a time") from None
        need(time > self.time, "its time is not later than the one before")
        self.time = time

    def local(self, header, local_hash):
        workspace, seq, prev = header["workspace"], header["local_seq"], header["local_prev"]
        if workspace is None:
            need(seq is None and prev is None, "a local link without a workspace")
            return
        need(isinstance(workspace, str), "not a workspace")
        place = (header["stream"], workspace)
        expected, last = self.locals.get(place, (0, None))
        need(number(seq) == expected, f"its local number should be {expected}")
        need(prev == (last and last.hex()), "it does not follow its workspace")
        self.locals[place] = (expected + 1, local_hash)


def verify(lines, key):
    log = Log(key)
    try:
        opening = read_line(next(lines, b"")[:-1])
        signer = opening.get("key")
        need(opening == {"key": signer, "origin": read_key(signer)[0], "wakeful_export": 1}
             and type(opening["wakeful_export"]) is int, "not an export")
        for raw in lines:
            need(raw.endswith(b"\n"), "the file is cut off")
            line = read_line(raw[:-1])
            if "checkpoint" in line:
                need(set(line) == {"checkpoint"} and isinstance(line["checkpoint"], str), "not a checkpoint")
                need(signer in log.trusted, "the export's key is not trusted for this log")
                size, root = open_note(line["checkpoint"], signer)
                need(size == log.tree.size, f"the checkpoint counts {size} entries")
                need(root == log.tree.root(), "the root differs")
                need(next(lines, None) is None, "something follows the checkpoint")
                cut = log.cut()
                if cut is not None:
                    raise Cut(f"entry {cut}: content was cut out of it, and no entry says that a rule erased it")
                return log
            log.entry(line)
        raise Bad("the file ends without a checkpoint")
    except Cut:
        raise
    except Bad as bad:
        raise Bad(f"entry {log.tree.size}: {bad}") from None


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        with open(sys.argv[1], "rb") as lines:
            log = verify(iter(lines), sys.argv[2].strip())
    except Bad as bad:
        sys.exit(f"BAD: {bad}")
    print(f"OK: {log.tree.size} entries in {len(log.streams)} streams, {log.erased} parts erased, "
          f"root {log.tree.root().hex()}")


if __name__ == "__main__":
    main()
