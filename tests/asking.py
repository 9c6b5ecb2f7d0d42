"""Asks a Sizer with fields as programs give them: they are checked as every door checks them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpusizer.usecases.comparison import Comparison, GpuListing
from gpusizer.usecases.desk import Desk, desk
from gpusizer.usecases.models_for.models_answer import ModelsFor
from gpusizer.usecases.models_for.models_request import ModelsRequest
from gpusizer.usecases.report import Report
from gpusizer.usecases.requests.desk_request import DeskRequest
from gpusizer.usecases.requests.request import CompareRequest, ListingRequest, SizeRequest
from gpusizer.usecases.requests.training_request import TrainingRequest
from gpusizer.usecases.sizer import Sizer
from gpusizer.usecases.trainer import train
from gpusizer.usecases.training_report import TrainingReport

Fields = Mapping[str, Any]


def size(sizer: Sizer, fields: Fields) -> Report:
    return sizer.size(SizeRequest.from_fields(fields))


def compare(sizer: Sizer, fields: Fields) -> Comparison:
    return sizer.compare(CompareRequest.from_fields(fields))


def models_for(sizer: Sizer, fields: Fields) -> ModelsFor:
    return sizer.models_for(ModelsRequest.from_fields(fields))


def listing(sizer: Sizer, fields: Fields) -> GpuListing:
    return sizer.gpus(ListingRequest.from_fields(fields))


def placing(sizer: Sizer, fields: Fields) -> Desk:
    return desk(sizer, DeskRequest.from_fields(fields))


def training(sizer: Sizer, fields: Fields) -> TrainingReport:
    return train(sizer, TrainingRequest.from_fields(fields))
