"""Each kind of layer by hand: what a sequence keeps in it, of what parts, and what engines ask."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpusizer.model.architecture import LayerRun, kinds_between
from gpusizer.model.architecture.layer_kinds import (
    AttentionWithState,
    CachelessLayer,
    ChunkedAttention,
    CompressedAttention,
    CrossAttention,
    FullAttention,
    IndexedAttention,
    LatentAttention,
    Layer,
    RecurrentLayer,
    SlidingAttention,
)
from gpusizer.model.architecture.layer_kinds.parts import (
    EntryPart,
    IndexPart,
    LatentPart,
    StatePart,
    TokenPart,
    Widths,
)
from gpusizer.model.architecture.model import merge_runs

BYTES = Widths(keys=2, values=1, state=4)  #

FULL = FullAttention(1024, 512, 8)
SLIDING = SlidingAttention(1024, 512, 8, window=128)
CHUNKED = ChunkedAttention(1024, 512, 8, window=128)
LATENT = LatentAttention(576, rope_width=64, head_keys=24_576, head_values=16_384)
INDEXED = IndexedAttention(LATENT, indexer_width=128)
VECTORS = SlidingAttention(512, 0, 1, window=128)
COMPRESSED = CompressedAttention(VECTORS, rope_width=64, compress_ratio=4, indexer_width=128)
STATE = RecurrentLayer(9000, conv_elements=1000, wide_state=True)
BOTH = AttentionWithState(SLIDING, STATE)


@pytest.mark.parametrize(
    "layer, parts, kept",
    [
        (FULL, (TokenPart(1024, 512, 8),), 1000 * (1024 * 2 + 512)),
        (SLIDING, (TokenPart(1024, 512, 8, 128),), 128 * (1024 * 2 + 512)),
        (CHUNKED, (TokenPart(1024, 512, 8, 128),), 128 * (1024 * 2 + 512)),
        (
            LATENT,
            (LatentPart(576, rope_width=64, head_keys=24_576),),
            1000 * 576 * 2,
        ),
        (
            INDEXED,
            (LatentPart(576, rope_width=64, head_keys=24_576), IndexPart(128)),
            1000 * (576 + 128) * 2,
        ),
        (
            COMPRESSED,
            (TokenPart(512, 0, 1, 128, rope_width=64), EntryPart(512, 128, 4, rope_width=64)),
            128 * 512 * 2 + 250 * (512 + 128) * 2,
        ),
        (CrossAttention(), (), 0),
        (CachelessLayer(), (), 0),
        (STATE, (StatePart(9000, 1000, wide=True),), 9000 * 4),
        (
            BOTH,
            (StatePart(9000, 1000, wide=True), TokenPart(1024, 512, 8, 128)),
            9000 * 4 + 128 * (1024 * 2 + 512),
        ),
    ],
)
def test_what_a_sequence_of_1000_tokens_keeps(
    layer: Layer, parts: tuple[object, ...], kept: int
) -> None:
    assert layer.parts == parts
    assert layer.amount(1000, BYTES) == kept


@pytest.mark.parametrize(
    "layer, cells",
    [
        (FULL, 1024),  # 1,000 tokens in cells of 256
        (SLIDING, 256),
        (replace(SLIDING, window=None), 1024),
    ],
)
def test_tokens_are_stored_in_multiples(layer: Layer, cells: int) -> None:
    assert layer.amount(1000, BYTES, 256) == cells * (1024 * 2 + 512)


def test_entries_and_states_are_not_padded() -> None:
    padded = COMPRESSED.amount(1002, BYTES, 256)
    assert padded == 256 * 512 * 2 + 250 * (512 + 128) * 2  # two tokens wait for their entry
    assert STATE.amount(1000, BYTES, 256) == STATE.amount(1, BYTES) == 36_000


@pytest.mark.parametrize(
    "layer, elements",
    [
        (FULL, 1536),
        (SLIDING, 1536),
        (INDEXED, 576 + 128),
        (COMPRESSED, 512 + (512 + 128) // 4),
        (STATE, 0),
        (BOTH, 1536),
        (CachelessLayer(), 0),
    ],
)
def test_elements_of_a_new_token(layer: Layer, elements: int) -> None:
    assert layer.elements_per_token == elements


@pytest.mark.parametrize(
    "layer, lasts, evenly",
    [
        (FULL, True, True),
        (LATENT, True, True),
        (INDEXED, True, True),
        (SLIDING, False, False),
        (replace(SLIDING, window=None), False, False),  # a window of unknown size
        (CHUNKED, False, False),
        (replace(LATENT, window=128), False, False),
        (COMPRESSED, False, False),
        (STATE, False, False),
        (AttentionWithState(FULL, STATE), True, False),
        (BOTH, False, False),
        (CrossAttention(), False, True),
        (CachelessLayer(), False, True),
    ],
)
def test_which_keep_every_token(layer: Layer, lasts: bool, evenly: bool) -> None:
    assert (layer.lasts, layer.grows_evenly) == (lasts, evenly)


def test_what_engines_ask_of_each() -> None:
    every = (FULL, SLIDING, CHUNKED, LATENT, INDEXED, COMPRESSED, STATE, BOTH, CrossAttention())
    assert [layer for layer in every if layer.latent] == [LATENT, INDEXED]
    assert [layer for layer in every if layer.is_indexed] == [INDEXED, COMPRESSED]
    assert [layer for layer in every if layer.compresses] == [COMPRESSED]
    assert [layer for layer in every if layer.state] == [STATE, BOTH]
    assert [layer for layer in every if layer.is_chunked] == [CHUNKED]
    assert [layer for layer in every if layer.crosses] == [CrossAttention()]
    assert [layer for layer in every if layer.tokens is None] == [STATE, CrossAttention()]
    assert AttentionWithState(CHUNKED, STATE).is_chunked
    assert RecurrentLayer().misses_size
    assert not STATE.misses_size


def test_heads_and_latents_as_one_query_sees_them() -> None:
    """DeepSeek-V3: 128 heads, whose queries compare 192 elements, of a latent of 512 + 64."""
    heads, latent = FULL.tokens, LATENT.latent
    assert heads is not None
    assert latent is not None
    assert (heads.compared_width(192), heads.output_width, heads.readers(32)) == (128, 64, 4)
    assert (latent.compared_width(192), latent.output_width, latent.readers(128)) == (192, 512, 1)
    assert latent.compared_width(None) == 576
    assert latent.query_width(128) == 24_576 + 128 * (512 + 576)


def test_shares_of_tensor_parallel_gpus() -> None:
    """Eight heads over 3 and over 16 GPUs; a latent is on every one; a state is divided."""
    assert [part.share(3) for part in FULL.parts] == [(3, 8)]
    assert [part.share(16) for part in FULL.parts] == [(1, 8)]
    assert [part.share(16) for part in INDEXED.parts] == [(1, 1), (1, 1)]
    assert [part.share(4) for part in BOTH.parts] == [(1, 4), (2, 8)]
    assert [part.share(4) for part in COMPRESSED.parts] == [(1, 1), (1, 1)]


@pytest.mark.parametrize(
    "layer, everything",
    [
        (FULL, FULL),
        (SLIDING, FULL),
        (CHUNKED, FULL),
        (replace(SLIDING, window=None), replace(SLIDING, window=None)),
        (replace(LATENT, window=128), LATENT),
        (BOTH, AttentionWithState(FULL, STATE)),
        (COMPRESSED, replace(COMPRESSED, attends=FullAttention(512, 0, 1))),
        (STATE, STATE),
        (CachelessLayer(), CachelessLayer()),
    ],
)
def test_an_engine_that_keeps_every_token(layer: Layer, everything: Layer) -> None:
    assert layer.without_window() == everything


def test_an_engine_that_keeps_room_beside_a_window() -> None:
    wider = replace(SLIDING, window=640)
    assert [layer.with_room(512) for layer in (FULL, SLIDING, STATE)] == [FULL, wider, STATE]
    assert BOTH.with_room(512) == AttentionWithState(wider, STATE)
    assert COMPRESSED.with_room(512) == replace(COMPRESSED, attends=replace(VECTORS, window=640))
    assert replace(LATENT, window=1).with_room(2) == replace(LATENT, window=3)


def test_later_passes_of_a_loop_see_a_window() -> None:
    assert FULL.seen_within(128) == SLIDING
    assert SLIDING.seen_within(64) == SLIDING
    assert LATENT.seen_within(64) == LATENT
    assert AttentionWithState(FULL, STATE).seen_within(128) == BOTH


def test_engines_without_an_indexer_or_a_latent() -> None:
    assert INDEXED.without_index() == LATENT
    assert COMPRESSED.without_index() == COMPRESSED
    alone = CompressedAttention(VECTORS, indexer_width=128)
    assert alone.without_index().parts == VECTORS.parts
    assert LATENT.as_heads() == FullAttention(24_576, 16_384)
    assert replace(LATENT, window=9).as_heads() == SlidingAttention(24_576, 16_384, window=9)
    assert replace(LATENT, head_keys=0).as_heads() == replace(LATENT, head_keys=0)
    assert LATENT.as_twice().amount(10, BYTES) == 10 * (576 * 2 + 512)
    assert (FULL.as_heads(), FULL.as_twice(), FULL.without_index()) == (FULL, FULL, FULL)
    assert INDEXED.as_twice() == replace(INDEXED, attends=LATENT.as_twice())


def test_states_are_changed_where_they_are() -> None:
    def twice(state: StatePart) -> StatePart:
        return replace(state, size=2 * state.size)

    doubled = replace(STATE, state_elements=18_000)
    assert STATE.with_state(twice) == doubled
    assert BOTH.with_state(twice) == AttentionWithState(SLIDING, doubled)
    assert IndexedAttention(BOTH, 8).with_state(twice).state == StatePart(18_000, 1000, wide=True)
    assert FULL.with_state(twice) == FULL


def test_answers_have_the_facts_of_all_that_is_joined() -> None:
    assert INDEXED.name == "mla"
    assert INDEXED.facts() == {**LATENT.facts(), "indexer_width": 128}
    assert BOTH.name == "sliding"
    assert BOTH.facts() == {
        "key_width": 1024,
        "value_width": 512,
        "kv_heads": 8,
        "window": 128,
        "state_elements": 9000,
        "conv_elements": 1000,
        "wide_state": True,
    }


def test_equal_layers_are_one_run() -> None:
    runs = [LayerRun(FULL), LayerRun(FULL, 2), LayerRun(SLIDING), LayerRun(CHUNKED), LayerRun(FULL)]
    plan = merge_runs(runs)
    assert plan == (LayerRun(FULL, 3), LayerRun(SLIDING), LayerRun(CHUNKED), LayerRun(FULL))
    assert kinds_between(plan, (0, 4, 6)) == [
        [LayerRun(FULL, 3), LayerRun(SLIDING)],
        [LayerRun(CHUNKED), LayerRun(FULL)],
    ]
