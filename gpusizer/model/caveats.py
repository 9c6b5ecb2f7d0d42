"""Caveats of a profile's numbers."""

from __future__ import annotations

from collections.abc import Iterator

from gpusizer.core.messages import Note
from gpusizer.hub.snapshot import RepoSnapshot
from gpusizer.model.architecture import Architecture
from gpusizer.model.attended_inputs import attended_sound_bytes
from gpusizer.model.doubts import doubts
from gpusizer.model.gguf_facts import gguf_notes
from gpusizer.model.packing import StoredQuantization
from gpusizer.model.pipeline_shape import PipelineShape
from gpusizer.model.quantization import is_known_method
from gpusizer.model.tensor_roles import Part
from gpusizer.model.weights import WeightGroup


def caveats(
    snapshot: RepoSnapshot,
    groups: tuple[WeightGroup, ...],
    architecture: Architecture | None,
    quantization: StoredQuantization | None,
    pipeline: PipelineShape | None = None,
) -> tuple[Note, ...]:
    """Return notes on the sources of the numbers and on differences from other counts."""
    notes: list[Note] = list(snapshot.notes)
    if any(component.totals for component in snapshot.components):
        notes.append(Note("gated_totals" if snapshot.gated else "sizes_from_files"))
    if snapshot.source == "snapshot":
        notes.append(Note("embedded_snapshot", date=snapshot.retrieved_at[:10]))
    is_spared = any(note.code == "hub_allowance_low" for note in snapshot.notes)
    if snapshot.source == "cache" and not is_spared:
        notes.append(Note("stale_cache", date=snapshot.retrieved_at[:10]))
    draft = sum(g.parameters for g in groups if g.part is Part.MTP)
    if draft:
        notes.append(Note("mtp_layers_counted", parameters=draft))
    if any(g.duplicate for g in groups):
        notes.append(Note("tied_matrix_stored_twice"))
    unproven = [g for g in groups if g.unproven]
    if unproven:
        tensors = sum(g.count for g in unproven)
        notes.append(Note("packing_not_proven", tensor=unproven[0].pattern, count=tensors))
    is_gguf = snapshot.format == "gguf"
    if is_gguf:
        notes += gguf_notes(snapshot)
    elif quantization is not None:
        if quantization.bits is None or not is_known_method(quantization.method):
            notes.append(Note("quantization_width_unknown", method=quantization.method))
        else:
            notes.append(
                Note("already_quantized", method=quantization.method, bits=quantization.bits)
            )
    if architecture is None and snapshot.format != "diffusers":
        notes.append(Note("architecture_unknown"))
    elif architecture is not None:
        for code, facts in (
            ("metadata_recovered" if is_gguf else "recovered_from_tensors", architecture.recovered),
            ("class_defaults_used", architecture.defaulted),
        ):
            if facts:
                notes.append(Note(code, facts=", ".join(facts)))
        if architecture.claimed_layers is not None:
            claimed, stored = architecture.claimed_layers, architecture.layers
            notes.append(Note("layers_not_stored", claimed=claimed, layers=stored))
    sound_bytes = attended_sound_bytes(snapshot.components[0].config)
    if sound_bytes is not None:
        notes.append(Note("sound_attended", sound_bytes=sound_bytes))
    notes += doubts(architecture, pipeline)
    return (*notes, *_uncounted(snapshot))


def _uncounted(snapshot: RepoSnapshot) -> Iterator[Note]:
    uncounted_paths = [
        file.path for file in snapshot.uncounted_files if file.path.endswith(".safetensors")
    ]
    counted_paths = [file.path for component in snapshot.components for file in component.files]
    if uncounted_paths and counted_paths:
        yield Note("one_copy_counted", counted=counted_paths[0], file=uncounted_paths[0])
    for file in snapshot.uncounted_files[:1]:
        yield Note("other_copies_not_counted", file=file.path, count=len(snapshot.uncounted_files))
