"""What may be left of a row: its values as bytes in every form in which somebody might have written them down.

Also what is *derived* from them: a counter that goes on after an id, or a threshold beside a value, tells of the row.
"""

import hashlib
import struct
from collections.abc import Iterator
from typing import Any

NEIGHBOURS = (-1, 0, 1)


def id_images(row_id: int) -> dict[str, bytes]:
    """An id of many digits, and the numbers beside it: as text, in either byte order, of 4 and 8 bytes, and varints."""
    return {
        f"id{step:+d}, {form}": image
        for step in NEIGHBOURS
        for form, image in _integer_images(row_id + step)
        if len(image) >= 4  # fewer bytes are found by chance
    }


def name_images(name: str) -> dict[str, bytes]:
    """A string as it is and in other encodings, its digest as the forest knows rows by it, and what is beside that."""
    digest = hashlib.blake2b(f"s:{name}".encode(), digest_size=8).digest()
    texts = {"text": name.encode(), "UTF-16": name.encode("utf-16-le"), "UTF-32": name.encode("utf-32-le")}
    return texts | {f"digest as {key}": image for key, image in id_images(int.from_bytes(digest, "little")).items()}


def number_images(value: float) -> dict[str, bytes]:
    """A number as float32 and float64 in either byte order, in the core's order-preserving form, and as text."""
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    images = {"text": repr(value).encode()}
    for step in NEIGHBOURS:
        (rounded,) = struct.unpack("<f", struct.pack("<I", bits + step))
        for order in "<>":
            ordered = (bits + step) ^ 0xFFFFFFFF if bits >> 31 else (bits + step) | 0x80000000
            images[f"float32{step:+d} {order}"] = struct.pack(f"{order}I", bits + step)
            images[f"float32{step:+d} that orders {order}"] = struct.pack(f"{order}I", ordered)
            images[f"float32{step:+d} as float64 {order}"] = struct.pack(f"{order}d", rounded)
        images[f"float32{step:+d} as text"] = repr(rounded).encode()
    for order in "<>":
        images[f"float64 {order}"] = struct.pack(f"{order}d", value)
    return images


def target_images(target: float, exponent: int, offset: float) -> dict[str, bytes]:
    """A target of a regressor as it was given and as it is shown, and in fixed point as an integer and as a double."""
    number = round((target - offset) * 2.0**-exponent)
    doubles = {"given": target, "shown": offset + 2.0**exponent * number}
    doubles |= {f"fixed point{step:+d}, double": float(number + step) for step in NEIGHBOURS}
    images = {f"fixed point, {key}": image for key, image in id_images(number).items()}
    for name, double in doubles.items():
        images |= {f"{name} {order}": struct.pack(f"{order}d", double) for order in "<>"}
        images[f"{name}, as text"] = repr(double).encode()
    return images


def found(images: dict[str, bytes], *contents: bytes) -> set[str]:
    """Which images are in any of these bytes."""
    return {name for name, image in images.items() if any(image in content for content in contents)}


def _integer_images(number: int) -> Iterator[tuple[str, bytes]]:
    yield "text", str(number).encode()
    yield "hexadecimal", f"{number % 2**64:x}".encode()
    for order, size in ((order, size) for order in ("little", "big") for size in (4, 8)):
        if size == 8 or abs(number) < 2**31:
            yield f"{order}-endian, {size} bytes", (number % 2 ** (8 * size)).to_bytes(size, order)
    yield "varint of LEB128", _leb128(number % 2**64)
    yield "varint of SQLite", _sqlite_varint(number % 2**64)


def _leb128(number: int) -> bytes:
    groups = []
    while True:
        number, low = number >> 7, number & 0x7F
        groups.append(low | (0x80 if number else 0))
        if not number:
            return bytes(groups)


def _sqlite_varint(number: int) -> bytes:
    groups = [number & 0x7F]
    while number := number >> 7:
        groups.append(number & 0x7F | 0x80)
    return bytes(reversed(groups))


def images_of(values: dict[str, Any]) -> dict[str, bytes]:
    """All images of named values: integers are ids, floats are numbers, strings are names."""
    makers = {int: id_images, float: number_images, str: name_images}
    return {
        f"{name}: {form}": image for name, value in values.items() for form, image in makers[type(value)](value).items()
    }
