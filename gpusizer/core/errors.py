"""Errors that gpusizer explains, each with a stable code."""

# InvalidRequest: the question itself cannot be answered. ModelUnreadable: the question is valid,
# the repository is not. An error carries facts (`fields`), never prose: `gpusizer.text` turns the
# code and the fields into a sentence, in three languages, once, at the edge.

from __future__ import annotations

import re
from typing import ClassVar

FieldValue = str | int | float | list[str] | None

EXIT_BAD_INPUT = 2
EXIT_UNREADABLE = 3
# no failure: the answer to the question is no
EXIT_ANSWER_IS_NO = 4


class GpusizerError(Exception):
    """Base of all errors; `fields` fill the sentence shown to people."""

    # stable API: the name of a public class in small letters, unless the class sets another
    code: ClassVar[str] = "internal"
    exit_code: ClassVar[int] = 1

    def __init_subclass__(cls) -> None:
        if "code" not in vars(cls) and not cls.__name__.startswith("_"):
            cls.code = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    def __init__(self, **fields: FieldValue) -> None:
        self.fields = fields
        super().__init__(f"{self.code}: {fields}")


class ServerBusy(GpusizerError):
    """The queue of requests is full. Fields: `retry_after_seconds`."""


class TooManyRequests(GpusizerError):
    """A visitor exceeds a limit. Fields: `allowed`, `reason`, `retry_after_seconds`."""

    # `allowed` counts questions in a minute, or by `reason`: "processor_seconds" in a minute, or
    # questions "under_way" at the same time


class RequestTooLarge(GpusizerError):
    """A request over the network exceeds a size limit. Fields: `limit`, `allowed` in bytes."""


class RequestTooSlow(GpusizerError):
    """The body of a request over the network did not come in time. Fields: `seconds` allowed."""


class SignInFailed(GpusizerError):
    """The Hub did not sign a visitor in. No fields."""


class UnknownEvent(GpusizerError):
    """No call is waiting under the name of a session or an event. No fields."""


class InvalidRequest(GpusizerError):
    """A field has an impossible value. Fields: `field`, `value`, `reason`."""

    exit_code = EXIT_BAD_INPUT


class InvalidModelId(InvalidRequest):
    """The text is not a Hub model ID or model URL. Fields: `value`, `reason`."""


class UnknownGpu(InvalidRequest):
    """No catalogue entry has this slug or alias. Fields: `value`, `suggestions`, maybe `reason`."""

    # `reason` is set for known names outside the catalogue (`gpusizer.gpus.unlisted`)


class UnknownQuant(InvalidRequest):
    """No quantization has this slug. Fields: `value`, `suggestions`."""


class UnknownEngine(InvalidRequest):
    """No engine has this slug. Fields: `value`, `suggestions`."""


class ModelUnreadable(GpusizerError):
    """The repository could not be read. Fields: at least `repo_id`."""

    code = "internal"
    exit_code = EXIT_UNREADABLE


class ModelNotFound(ModelUnreadable):
    """The Hub has no such model. Fields: `repo_id`."""


class PrivateOrMissing(ModelUnreadable):
    """The Hub answers 401, for a private or a missing repository. Fields: `repo_id`."""


class RevisionNotFound(ModelUnreadable):
    """The repository exists, the revision does not. Fields: `repo_id`, `revision`."""


class RepoFileNotFound(ModelUnreadable):
    """A named file is missing from the repository. Fields: `repo_id`, `file`, `suggestions`."""

    # `suggestions` only for a GGUF repository: its files or quantizations
    code = "file_not_found"


class GatedModel(ModelUnreadable):
    """Access must be granted on the Hub first. Fields: `repo_id`."""


class NoWeights(ModelUnreadable):
    """No file in the repository holds readable weights. Fields: `repo_id`, `formats`."""


class MalformedRepo(ModelUnreadable):
    """A file contradicts its format. Fields: `repo_id`, `file`, `reason`."""


class LimitsExceeded(ModelUnreadable):
    """A reading budget ran out. Fields: `repo_id`, `limit`, `allowed`."""


class UnsupportedDtype(ModelUnreadable):
    """A tensor names a dtype that its file's format does not have. Fields: `repo_id`, `dtype`."""


class HubUnreachable(ModelUnreadable):
    """No usable answer from the Hub in time. Fields: `repo_id`, `reason`."""


class HubRateLimited(ModelUnreadable):
    """The Hub answered 429. Fields: `repo_id`, `retry_after_seconds`."""
