"""JsonStream: reads long JSON value by value, so that few of its values are in memory at a time."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ijson

from gpusizer.core.errors import MalformedRepo
from gpusizer.core.loose_values import JsonValue
from scrapers.formats.json_files import most_values_bytes, values_bytes

# Most members of an object that is read member by member: more than the shards of any model.
MAX_MEMBERS = 2500
# Most levels of a value in a stream; headers have four.
MAX_DEPTH = 64
# Most events of a skipped value: a second of processor time.
_MAX_SKIPPED = 1_000_000
_STARTS, _ENDS = frozenset({"start_map", "start_array"}), frozenset({"end_map", "end_array"})


@contextmanager
def json_stream(data: bytes, repo_id: str, path: str) -> Iterator[JsonStream]:
    """Read a JSON text, which has to end where the reader stops.

    Raises MalformedRepo with the `reason` of a StreamRefusal, or "not_json".
    """
    stream = JsonStream(data)
    try:
        yield stream
        stream.end()
    except StreamRefusal as error:
        raise MalformedRepo(repo_id=repo_id, file=path, reason=error.reason) from None
    except ijson.JSONError:
        raise MalformedRepo(repo_id=repo_id, file=path, reason="not_json") from None


class StreamRefusal(ValueError):
    """Raised for invalid or too large JSON, with the `reason` of a MalformedRepo."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class JsonStream:
    """The values of a JSON text, taken in sequence. Raises StreamRefusal and ijson.JSONError."""

    # Numbers beyond 64 bits are refused. Only `basic_parse` of ijson is used: the paths that its
    # other functions keep grow with the square of the depth of a text.
    def __init__(self, data: bytes) -> None:
        self._text = _BoundedText(data)
        self._events: Iterator[tuple[str, Any]] = ijson.basic_parse(self._text, use_float=True)

    def members(self) -> Iterator[str]:
        """Yield the keys of the next object; the caller takes each value.

        Raises StreamRefusal ("not_an_object", "duplicate_key", "crowded" for MAX_MEMBERS).
        """
        keys: set[str] = set()
        if next(self._events)[0] != "start_map":
            raise StreamRefusal("not_an_object")
        for event, key in self._events:
            if event == "end_map":
                return
            if key in keys:
                raise StreamRefusal("duplicate_key")
            keys.add(key)
            if len(keys) > MAX_MEMBERS:
                raise StreamRefusal("crowded")
            yield key

    def texts(self) -> Iterator[str]:
        """Yield the values of the next object, each a text, without its keys.

        Raises StreamRefusal ("not_texts", "crowded" for a text beyond the length of any value).
        """
        if next(self._events)[0] != "start_map":
            raise StreamRefusal("not_texts")
        for event, value in self._events:
            self._text.release()
            if event == "string":
                yield value
            elif event == "end_map":
                return
            elif event != "map_key":
                raise StreamRefusal("not_texts")

    def value(self) -> JsonValue:
        """Return the next value.

        Raises StreamRefusal ("too_deep", "duplicate_key", "crowded" for values that would take more
        memory than `most_values_bytes` allows).
        """
        self._text.release()
        return self._built(*next(self._events), MAX_DEPTH)

    def _built(self, event: str, value: Any, levels: int) -> JsonValue:
        # `levels` bounds the nesting inside the value.
        if event not in _STARTS:
            item: JsonValue = value
            return item
        if not levels:
            raise StreamRefusal("too_deep")
        events = self._events
        if event == "start_array":
            items: list[JsonValue] = []
            for event, value in events:
                if event == "number":
                    items.append(value)
                elif event == "end_array":
                    break
                else:
                    items.append(self._built(event, value, levels - 1))
            return items
        members: dict[str, JsonValue] = {}
        for event, key in events:
            if event == "end_map":
                break
            if key in members:
                raise StreamRefusal("duplicate_key")
            event, value = next(events)
            members[key] = value if event == "string" else self._built(event, value, levels - 1)
        return members

    def skip(self) -> None:
        """Skip the next value. Raises StreamRefusal ("crowded")."""
        depth = 0
        for count, (event, _) in enumerate(self._events):
            if count > _MAX_SKIPPED:
                raise StreamRefusal("crowded")
            self._text.release()
            depth += (event in _STARTS) - (event in _ENDS)
            if not depth and event != "map_key":
                return

    def end(self) -> None:
        """Read to the end. Raises ijson.JSONError if more than spaces comes before it."""
        for _ in self._events:
            self._text.release()


class _BoundedText:
    # A text in pieces that refuses too many values at a time. They are counted as in
    # `values_bytes`, before ijson creates them.
    def __init__(self, data: bytes) -> None:
        self._data = memoryview(data)
        self._at = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
        self._text_bytes, self._values_bytes = 0, 0

    def read(self, size: int) -> bytes:
        piece = bytes(self._data[self._at : self._at + size])
        self._at += len(piece)
        self._text_bytes += len(piece)
        self._values_bytes += values_bytes(piece)
        if self._values_bytes > most_values_bytes(self._text_bytes):
            raise StreamRefusal("crowded")
        return piece

    def release(self) -> None:
        # The values read so far count no longer.
        self._text_bytes, self._values_bytes = 0, 0
