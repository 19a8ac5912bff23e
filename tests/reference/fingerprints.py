"""The canonical digest of a forest (docs/algorithm.md, 2.9 and 2.10)."""

import struct
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b

from reference.forest import Leaf, Node
from reference.targets import FixedPoint, sums_of

KIND_BYTE = {"random": b"\x01", "greedy": b"\x02"}


def label_text(label: str | float) -> str:
    """A label as text, the same for all ways of writing one number."""
    if isinstance(label, str):
        return f"s:{label}"
    return f"n:{int(label)}" if label == int(label) else f"n:{float(label)!r}"


def class_digest(label: str | float) -> bytes:
    """The 16 bytes that stand for a class."""
    return blake2b(label_text(label).encode(), digest_size=16).digest()


def node_digest(node: Node, target_bytes: Callable[[Counter], bytes]) -> bytes:
    """The digest of a subtree, given how the targets of a leaf are written."""
    if isinstance(node, Leaf):
        ids = struct.pack(f"<Q{len(node.ids)}q", len(node.ids), *node.ids)
        content = target_bytes(node.counts) + ids
    else:
        split = KIND_BYTE[node.kind] + struct.pack("<If", node.attribute, node.threshold)
        content = split + node_digest(node.left, target_bytes) + node_digest(node.right, target_bytes)
    return blake2b(content, digest_size=32).digest()


def forest_digest(head: bytes, trees: Sequence[Node], target_bytes: Callable[[Counter], bytes]) -> str:
    """The digest of what a forest says of itself and of its trees."""
    content = head + b"".join(node_digest(tree, target_bytes) for tree in trees)
    return blake2b(content, digest_size=32).hexdigest()


def class_bytes(counts: Counter) -> bytes:
    """The classes of a leaf; they ascend by their 16 bytes, not by their labels."""
    classes = sorted((class_digest(label), n) for label, n in counts.items())
    return b"\x00" + struct.pack("<I", len(classes)) + b"".join(its + struct.pack("<Q", n) for its, n in classes)


def sum_bytes(counts: Counter) -> bytes:
    """The rows and the sum of the targets of a leaf of a regression forest."""
    n, S = sums_of(counts)
    return b"\x03" + struct.pack("<Q", n) + S.to_bytes(16, "little", signed=True)


def fingerprint(trees: Sequence[Node], n_attributes: int, labels: Iterable[str | float]) -> str:
    """The digest of a forest, given the labels of all its rows."""
    labels = list(labels)
    classes = sorted(class_digest(label) for label in set(labels))
    sizes = struct.pack("<IIQI", n_attributes, len(trees), len(labels), len(classes))
    return forest_digest(b"deciduous-forest-2" + sizes + b"".join(classes), trees, class_bytes)


def regression_fingerprint(trees: Sequence[Node], n_attributes: int, n_rows: int, fixed_point: FixedPoint) -> str:
    """The digest of a regression forest, given the number of its rows (ids, not weights)."""
    sizes = struct.pack("<IIQid", n_attributes, len(trees), n_rows, *fixed_point)
    return forest_digest(b"deciduous-regression-1" + sizes, trees, sum_bytes)
