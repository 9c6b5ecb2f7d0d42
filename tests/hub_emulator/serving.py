"""Answers that carry a file: whole, a range of it, or compressed."""

from __future__ import annotations

import gzip
from dataclasses import replace

from tests.hub_emulator.files import FakeFile
from tests.hub_emulator.messages import Answer, Request, text_answer

# By the last suffix; what is not here is sent as bytes.
_CONTENT_TYPES = {
    "json": "application/json",
    "md": "text/plain; charset=utf-8",
    "txt": "text/plain; charset=utf-8",
    "py": "text/plain; charset=utf-8",
}
_BYTES = "application/octet-stream"


def file_answer(file: FakeFile, path: str, request: Request, headers: dict[str, str]) -> Answer:
    """Return the file or the requested range: 206 with Content-Range, 416 past its end."""
    headers = {
        "Content-Type": _CONTENT_TYPES.get(path.rpartition(".")[2], _BYTES),
        "Accept-Ranges": "bytes",
        **headers,
    }
    span = request.byte_range(file.size)
    if span is None:
        return Answer(200, headers, file, 0, file.size)
    start, stop = span
    if start >= stop:
        return text_answer(
            416,
            '<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>InvalidRange</Code></Error>',
            "application/xml",
            {"Content-Range": f"bytes */{file.size}"},
        )
    headers["Content-Range"] = f"bytes {start}-{stop - 1}/{file.size}"
    return Answer(206, headers, file, start, stop)


def compressed(answer: Answer, request: Request) -> Answer:
    """Return the answer gzipped, as CloudFront sends whole text files: no length, a weak ETag."""
    is_whole_text = answer.status == 200 and answer.headers["Content-Type"] != _BYTES
    if not is_whole_text or "gzip" not in request.headers.get("accept-encoding", ""):
        return answer
    body = gzip.compress(answer.source.read(answer.start, answer.stop), mtime=0)
    headers = dict(answer.headers) | {
        "Content-Encoding": "gzip",
        "Vary": "Accept-Encoding",
        "ETag": f"W/{answer.headers['ETag']}",
    }
    del headers["Accept-Ranges"]
    source = FakeFile(body, len(body))
    return replace(answer, headers=headers, source=source, start=0, stop=len(body), chunked=True)
