"""Arrow: a file that knows its batches, or a stream of them."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

from .files import File, Report, types_of

ROWS_AT_A_TIME = 2**16
BEGINNINGS = (b"ARROW1", b"\xff\xff\xff\xff")  # of a file, and of a stream


def is_arrow(content: bytes) -> bool:
    """Whether bytes begin as Arrow does."""
    return content.startswith(BEGINNINGS)


class ArrowSource(File):
    """A file or stream of Arrow."""

    def types(self) -> dict[str, Any]:
        """The columns, each with its type."""
        with self._reader() as (schema, _):
            return types_of(schema, self.name)

    def n_steps(self) -> int:
        """Rows."""
        with self._reader() as (_, batches):
            return sum(batch.num_rows for batch in batches)

    def batches(self, names: list[str], report: Report) -> Generator[Any]:
        """Record batches with these columns, as they are."""
        n_done = 0
        with self._reader() as (_, batches):
            for batch in batches:
                for begin in range(0, batch.num_rows, ROWS_AT_A_TIME):
                    part = batch.slice(begin, ROWS_AT_A_TIME)
                    n_done += part.num_rows
                    report(n_done)
                    yield part.select(names)

    @contextmanager
    def _reader(self) -> Iterator[tuple[Any, Iterator[Any]]]:
        """The schema and the batches, of a file or of a stream."""
        import pyarrow as pa

        with pa.memory_map(self.name) if self.content is None else self.opened() as mapped:
            try:
                file = pa.ipc.open_file(mapped)
            except pa.ArrowInvalid:
                file = None
            if file is not None:
                yield file.schema, (file.get_batch(i) for i in range(file.num_record_batches))
                return
            mapped.seek(0)
            stream = pa.ipc.open_stream(mapped)
            yield stream.schema, iter(stream)
