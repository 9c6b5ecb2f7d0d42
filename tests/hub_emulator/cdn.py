"""CdnSite: the second host, which serves LFS files under signed addresses."""

from __future__ import annotations

import time
from urllib.parse import urlencode

from tests.hub_emulator.files import FakeFile
from tests.hub_emulator.messages import Answer, Request, text_answer
from tests.hub_emulator.repos import FakeRepo
from tests.hub_emulator.serving import file_answer


class CdnSite:
    """The host that serves LFS files, under addresses the Hub has signed."""

    def __init__(self) -> None:
        self.endpoint = ""
        self._objects: dict[str, tuple[FakeFile, str]] = {}

    def sign(self, repo: FakeRepo, path: str, file: FakeFile) -> str:
        """An address of the file, as the Hub's 302 gives it."""
        location = f"/xet-bridge-us/{repo.object_id}/{file.xet_hash}"
        self._objects[location] = (file, path)
        name = path.rpartition("/")[2]
        query = {
            "response-content-disposition": f'inline; filename="{name}";',
            "Expires": int(time.time()) + 3600,
            "Policy": "eyJTdGF0ZW1lbnQiOltdfQ__",
            "Signature": file.xet_hash,
            "Key-Pair-Id": "K2L8F4GPSG1IFC",
        }
        return f"{self.endpoint}{location}?{urlencode(query)}"

    def answer(self, request: Request) -> Answer:
        """The file at a signed address; a 403 at any other, as S3 says it."""
        found = self._objects.get(request.path)
        if found is None or not request.values("Signature"):
            return text_answer(403, "<Error><Code>AccessDenied</Code></Error>", "application/xml")
        file, path = found
        return file_answer(file, path, request, {"ETag": f'"{file.xet_hash}"'})
