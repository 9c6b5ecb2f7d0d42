"""CdnSite: the second host, which serves LFS files under signed addresses."""

from __future__ import annotations

import time
from urllib.parse import urlencode

from tests.hub_emulator.files import FakeFile
from tests.hub_emulator.messages import Answer, Request, text_answer
from tests.hub_emulator.repos import FakeRepo
from tests.hub_emulator.serving import file_answer


class CdnSite:
    """The host that serves LFS files under addresses that the Hub has signed."""

    def __init__(self) -> None:
        self.endpoint = ""
        self._objects: dict[str, tuple[FakeFile, str]] = {}

    def sign(self, repo: FakeRepo, path: str, file: FakeFile) -> str:
        """Return a signed address of the file, for the Location of the Hub's 302."""
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
        """Answer with the file at a signed address; with S3's 403 at any other."""
        signed_file = self._objects.get(request.path)
        if signed_file is None or not request.values("Signature"):
            return text_answer(403, "<Error><Code>AccessDenied</Code></Error>", "application/xml")
        file, path = signed_file
        return file_answer(file, path, request, {"ETag": f'"{file.xet_hash}"'})
