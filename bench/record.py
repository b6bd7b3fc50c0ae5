"""What the database of a project holds, read without Callsheet (`crates/callsheet-store/migrations`)."""

import json
import zlib
from pathlib import Path

# What of a base is used, as in `crates/callsheet-store/src/pack.rs`.
BASE_BYTES = 24 * 1024
FACTS = (Path(__file__).resolve().parent.parent / "crates/callsheet-store/src/facts.dict").read_bytes()


def unpacked(stored, size, base=None):
    data = stored.encode() if isinstance(stored, str) else bytes(stored)
    if size is None:
        return data
    inflate = zlib.decompressobj(-15, zdict=base[:BASE_BYTES]) if base else zlib.decompressobj(-15)
    return inflate.decompress(data)


def facts(connection):
    rows = connection.execute("SELECT body, size FROM facts ORDER BY key")
    return [json.loads(unpacked(body, size, FACTS)) for body, size in rows]


def blobs(connection):
    """Bytes by their hash in letters."""
    rows = connection.execute("SELECT id, hash, base, size, bytes FROM blobs").fetchall()
    whole = {number: unpacked(data, size) for number, _, base, size, data in rows if base is None}
    told = {number: unpacked(data, size, whole[base]) for number, _, base, size, data in rows if base is not None}
    whole |= told
    return {key.hex(): whole[number] for number, key, *_ in rows}
