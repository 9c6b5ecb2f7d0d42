"""Use cases by the names of their commands: the request model and the function that answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from gpusizer.core.request_model import RequestModel
from gpusizer.usecases.desk import desk
from gpusizer.usecases.models_for.models_request import ModelsRequest
from gpusizer.usecases.requests.desk_request import DeskRequest
from gpusizer.usecases.requests.request import CompareRequest, ListingRequest, SizeRequest
from gpusizer.usecases.requests.training_request import TrainingRequest
from gpusizer.usecases.sizer import Sizer
from gpusizer.usecases.trainer import train

Fields = Mapping[str, object]  # a request of a program or a person, not yet checked


_Request = TypeVar("_Request", bound=RequestModel)


@dataclass(frozen=True, slots=True)
class UseCase(Generic[_Request]):
    """Model of a request, and the function that answers a checked one."""

    request: type[_Request]
    answer: Callable[[Sizer, _Request], Any]

    def ask(self, sizer: Sizer, fields: Fields) -> Any:
        """Check a request and answer it. Raises any GpusizerError."""
        return self.answer(sizer, self.request.from_fields(fields))


# in the order of docs/contract.md
USE_CASES: Mapping[str, UseCase[Any]] = {
    "size": UseCase(SizeRequest, Sizer.size),
    "train": UseCase(TrainingRequest, train),
    "compare": UseCase(CompareRequest, Sizer.compare),
    "models-for": UseCase(ModelsRequest, Sizer.models_for),
    "desk": UseCase(DeskRequest, desk),
    "gpus": UseCase(ListingRequest, Sizer.gpus),
}
