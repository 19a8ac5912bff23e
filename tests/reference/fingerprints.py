"""The canonical digest of a forest (docs/algorithm.md, 2.9)."""

import struct
from collections.abc import Iterable, Sequence
from hashlib import blake2b

from reference.forest import Leaf, Node

KIND_BYTE = {"random": b"\x01", "greedy": b"\x02"}


def label_text(label: str | float) -> str:
    """A label as text, the same for all ways of writing one number."""
    if isinstance(label, str):
        return f"s:{label}"
    return f"n:{int(label)}" if label == int(label) else f"n:{float(label)!r}"


def class_digest(label: str | float) -> bytes:
    """The 16 bytes that stand for a class."""
    return blake2b(label_text(label).encode(), digest_size=16).digest()


def node_digest(node: Node) -> bytes:
    """The digest of a subtree."""
    if isinstance(node, Leaf):
        content = leaf_bytes(node)
    else:
        split = KIND_BYTE[node.kind] + struct.pack("<If", node.attribute, node.threshold)
        content = split + node_digest(node.left) + node_digest(node.right)
    return blake2b(content, digest_size=32).digest()


def leaf_bytes(leaf: Leaf) -> bytes:
    """What the digest of a leaf is taken of; classes ascend by their 16 bytes, not by their labels."""
    classes = sorted((class_digest(label), n) for label, n in leaf.counts.items())
    counts = b"".join(digest + struct.pack("<Q", n) for digest, n in classes)
    ids = struct.pack(f"<Q{len(leaf.ids)}q", len(leaf.ids), *leaf.ids)
    return b"\x00" + struct.pack("<I", len(classes)) + counts + ids


def fingerprint(trees: Sequence[Node], n_attributes: int, labels: Iterable[str | float]) -> str:
    """The digest of a forest, given the labels of all its rows."""
    labels = list(labels)
    classes = sorted(class_digest(label) for label in set(labels))
    sizes = struct.pack("<IIQI", n_attributes, len(trees), len(labels), len(classes))
    content = b"deciduous-forest-2" + sizes + b"".join(classes) + b"".join(map(node_digest, trees))
    return blake2b(content, digest_size=32).hexdigest()
