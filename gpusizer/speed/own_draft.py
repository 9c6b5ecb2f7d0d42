"""Draft layers of the model itself (multi-token prediction), as work of a pass for one token."""

# A pass runs one of them: vLLM takes the next for the next token, and begins again after the last
# (`spec_step_idx % num_mtp_layers`, model_executor/models/deepseek_mtp.py), SGLang and llama.cpp
# likewise. Engines share the model's embedding and output head with them. A layer keeps a cache of
# every token, like the last layer of the model that does.

from __future__ import annotations

from dataclasses import dataclass, replace

from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.memory.kv_cache import kv_cache_bytes
from gpusizer.model.architecture import Architecture, LayerRun
from gpusizer.model.draft import drafts
from gpusizer.model.profile import ModelProfile
from gpusizer.model.tensor_roles import is_expert
from gpusizer.speed.work import ModelFacts, Work, attention_flops

_OPTION = "draft_tokens"


@dataclass(frozen=True, slots=True)
class OwnDraft:
    """One draft layer: its weights, dense or routed, and its architecture."""

    dense_parameters: int
    expert_parameters: int
    dense_bytes: int
    expert_bytes: int
    architecture: Architecture

    @classmethod
    def from_estimate(cls, profile: ModelProfile, estimate: MemoryEstimate) -> OwnDraft | None:
        """Return the draft layer of a model in its estimate; None if files or engine have none."""
        arch = profile.architecture
        if arch is None or _OPTION not in estimate.engine.abilities.options:
            return None
        amounts = zip(profile.groups, estimate.sizes.by_group, strict=False)
        stored = [(group, amount) for group, amount in amounts if drafts(group)]
        layers = len({i for group, _ in stored for i in group.layers or ()}) or 1
        if not sum(amount for _, amount in stored):
            return None
        routed = [(g, amount) for g, amount in stored if is_expert(g.pattern)]
        dense = [(g, amount) for g, amount in stored if not is_expert(g.pattern)]
        lasting = [run for run in arch.layer_plan if run.layer.lasts]
        kept = LayerRun((lasting or arch.layer_plan)[-1].layer)
        return cls(
            dense_parameters=sum(g.parameters for g, _ in dense) // layers,
            expert_parameters=sum(g.parameters for g, _ in routed) // layers,
            dense_bytes=sum(amount for _, amount in dense) // layers,
            expert_bytes=sum(amount for _, amount in routed) // layers,
            architecture=replace(arch, layers=1, layer_plan=(kept,)),
        )

    def facts(self, model: ModelFacts) -> ModelFacts:
        """Return the facts of a pass for one token, with the output head of `model`."""
        workload, chosen = model.workload, 0
        if model.experts:
            chosen = self.expert_parameters * model.experts_per_token // model.experts
        return replace(
            model,
            layers=1,
            running_layers=1.0,
            launched_layers=model.launched_layers / model.layers,
            small_layers=model.small_layers / model.layers,
            sink_layers=0.0,
            delta_layers=0.0,
            expert_layers=min(1, model.expert_layers) if self.expert_bytes else 0,
            matrix_parameters=max(1, self.dense_parameters + chosen),
            attention_flops=attention_flops(self.architecture, model.prompt),
            cache_bytes=kv_cache_bytes(self.architecture, model.context, 1, workload.kv_dtype),
            state_bytes=0,
        )

    def work(self, model: Work, head_bytes: int) -> Work:
        """Return the work of a pass, on the last stage of the model's GPUs."""
        return replace(
            model,
            facts=self.facts(model.facts),
            dense_bytes=self.dense_bytes + head_bytes,
            expert_bytes=self.expert_bytes,
            pipeline=1,
        )
