"""Models for a purpose: order by boards, picks with reasons, and what every door tells."""

from __future__ import annotations

from datetime import date
from functools import cache
from itertools import combinations, pairwise

import pytest

from gpusizer.cli.summary import models_summary
from gpusizer.core.errors import InvalidRequest
from gpusizer.core.units import GIB
from gpusizer.fit.requirements import READING_SPEED
from gpusizer.quality.boards import (
    GROUPS,
    LEADING,
    PURPOSES,
    SECOND,
    Board,
    BoardScore,
    ScoreBoards,
)
from gpusizer.text import LANGUAGES, Language, say_note
from gpusizer.ui.presenters.model_scores import quality_cell
from gpusizer.ui.presenters.models_for import columns, models_for_html
from gpusizer.ui.presenters.pieces.grid import grid_value
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.ui.server.short_answers import shortened
from gpusizer.usecases.models_for.by_purpose import TASKS_OF, credited, size_class
from gpusizer.usecases.models_for.model_library import ModelLibrary
from gpusizer.usecases.models_for.models_answer import ModelsFor, RunsOn
from gpusizer.usecases.models_for.picks import MOST_PICKS
from gpusizer.usecases.sizer import Sizer
from tests.asking import models_for
from tests.documents import written
from tests.pages import ENGLISH
from tests.sizers import embedded_sizer

SMALL, LARGE, MIDDLE = "Qwen/Qwen3.5-0.8B", "Qwen/Qwen3-14B", "Qwen/Qwen3-8B"
TERMS = "CC BY 4.0"


def board(name: str, *, by_maker: bool = False) -> Board:
    return Board(
        name, "1", "points", True, "", by_maker, "https://a.example", date(2026, 1, 2), TERMS
    )


def score(name: str, model_id: str, points: float, by_maker: bool = False) -> BoardScore:
    return BoardScore(board(name, by_maker=by_maker), model_id, points, None, None, "<b>as served")


def boards_of(*scores: BoardScore) -> ScoreBoards:
    return ScoreBoards({one.board.board: one.board for one in scores}.values(), scores)


def ask(boards: ScoreBoards, **fields: object) -> ModelsFor:
    """Return an answer from the embedded models by boards made by hand."""
    base = embedded_sizer()
    library = ModelLibrary(None, lambda: base.library.uses, None, lambda: boards)
    library.candidates = base.library.candidates  # profiled once for all tests
    sizer = Sizer(base.fetch, base.catalogue, library=library, new_budget=base.new_budget)
    return models_for(sizer, {"gpu": "4090", "top": 0, **fields})


@cache
def embedded(gpu: str, purpose: str) -> ModelsFor:
    return models_for(embedded_sizer(), {"gpu": gpu, "purpose": purpose, "top": 0})


def ids(answer: ModelsFor) -> list[str]:
    return [row.runs.profile.repo_id for row in answer.rows]


def test_the_leading_board_orders_and_the_second_stands_beside_it() -> None:
    lead, second = LEADING["chat"], SECOND["chat"]
    scores = [score(lead, LARGE, 1), score(lead, SMALL, 3), score(lead, "org/other", 2)]
    scores += [score(second, LARGE, 9), score(second, MIDDLE, 8), score(second, SMALL, 1)]
    answer = ask(boards_of(*scores), purpose="chat")
    assert ids(answer)[:3] == [SMALL, LARGE, MIDDLE]
    first, other, third = written(answer)["models"][:3]
    assert first["scores"] is not None and other["scores"] is not None
    assert first["scores"]["leading"] is not None and first["scores"]["leading"]["share"] == 1.0
    assert first["scores"]["boards_disagree"] is True
    assert other["scores"]["group"] == "leading" and third["scores"] is not None
    assert (third["scores"]["group"], third["scores"]["leading"]) == ("second", None)


def test_a_makers_figure_is_told_and_orders_nothing() -> None:
    makers = "SWE-bench Verified"
    scores = [score(LEADING["code"], LARGE, 1), score(makers, SMALL, 99, by_maker=True)]
    with_it = ask(boards_of(*scores), purpose="code")
    without = ask(boards_of(scores[0]), purpose="code")
    assert ids(with_it) == ids(without) and ids(with_it)[0] == LARGE
    row = next(row for row in with_it.rows if row.runs.profile.repo_id == SMALL)
    assert row.scored is not None and row.scored.measured.group == "unmeasured"
    assert "Maker" in quality_cell(row, ENGLISH) and "99" in quality_cell(row, ENGLISH)


def test_a_quantized_copy_has_the_score_of_its_original_and_no_relative_has() -> None:
    of = credited(boards_of(score(LEADING["chat"], "Qwen/Qwen3-30B-A3B", 5)), "chat")
    by_id = {item.profile.repo_id: item.profile for item in embedded_sizer().library.candidates}
    leading = {
        name: of(by_id[f"Qwen/{name}"]).leading
        for name in ("Qwen3-30B-A3B", "Qwen3-30B-A3B-FP8", "Qwen3-30B-A3B-Instruct-2507")
    }
    assert leading["Qwen3-30B-A3B"] is not None
    assert leading["Qwen3-30B-A3B-FP8"] == leading["Qwen3-30B-A3B"]
    assert leading["Qwen3-30B-A3B-Instruct-2507"] is None


def _section(row: RunsOn) -> tuple[bool, int, bool]:
    scored = row.scored
    assert scored is not None
    return not scored.runs_well, GROUPS.index(scored.measured.group), not scored.is_sure


@pytest.mark.parametrize(
    "gpu, purpose",
    [("3060", "code"), ("4090", "chat"), ("3060 + 64 GB RAM", "code"), ("M4 Max 128GB", "agents")],
)
def test_laws_of_the_order(gpu: str, purpose: str) -> None:
    answer = embedded(gpu, purpose)
    assert {row.runs.task for row in answer.rows} <= TASKS_OF[answer.request.work or "chat"]
    assert all(_section(a) <= _section(b) for a, b in pairwise(answer.rows))
    for before, after in combinations(answer.rows, 2):
        assert before.scored is not None and after.scored is not None
        if _section(before) != _section(after):
            continue
        first, second = before.scored.measured.first, after.scored.measured.first
        if first is not None and second is not None:
            assert first.ends[1] >= second.ends[0], "wholly above, and yet after it"
        elif before.runs.candidate.member.kind == after.runs.candidate.member.kind == "plain":
            sizes = [row.runs.profile.parameters for row in (before, after)]
            assert size_class(sizes[0]) >= size_class(sizes[1]), "no 0.8B above a 14B"


@pytest.mark.parametrize("purpose", PURPOSES)
def test_picks_run_well_and_each_has_a_reason(purpose: str) -> None:
    answer = embedded("4090", purpose)
    assert 1 <= len(answer.picked) <= MOST_PICKS
    assert answer.picked[0][0].runs is answer.rows[0].runs
    names = [row.runs.profile.repo_id for row, _ in answer.picked]
    assert len(set(names)) == len(names)
    for row, why in answer.picked:
        assert row.scored is not None and row.scored.runs_well and row.scored.is_sure
        assert why.fields["model"] in row.runs.profile.repo_id
        if row.decode is not None and purpose not in ("embeddings", "speech", "pictures"):
            assert row.decode.likely >= READING_SPEED
    unmeasured = answer.picked[0][1].code == "pick_unmeasured"
    assert unmeasured is (purpose == "pictures")


@pytest.mark.parametrize(
    "gpu, purpose, model_id",
    [
        ("3060", "chat", "google/gemma-3-12b-it"),
        ("4090", "chat", "google/gemma-4-31B-it"),
        ("4090", "code", "Qwen/Qwen3.8-27B"),
        ("4090", "vision", "google/gemma-4-31B-it"),
        ("4090", "embeddings", "Qwen/Qwen3-Embedding-8B"),
    ],
)
def test_first_listed_as_the_research_table_says(gpu: str, purpose: str, model_id: str) -> None:
    assert ids(embedded(gpu, purpose))[0] == model_id


def test_without_a_purpose_nothing_is_scored() -> None:
    data = written(ask(boards_of(score(LEADING["chat"], SMALL, 1)), top=5))
    assert data["purpose"] is None and data["workload"]["purpose"] is None
    assert all(model["scores"] is None for model in data["models"])
    assert not [note for note in data["notes"] if note["code"].startswith("scores_")]


def test_every_door_tells_the_same() -> None:
    answer = embedded("4090", "code")
    data = written(answer)
    assert data["purpose"] is not None and data["purpose"]["leading"] is not None
    reasons = [pick["reason"]["message"] for pick in data["purpose"]["picks"]]
    assert data["answer"]["sentence"].startswith("For coding on GeForce RTX 4090 24GB we suggest ")
    shell, page = models_summary(answer), models_for_html(answer, ENGLISH)
    short = shortened("models-for", {**data})
    assert short["purpose"] == {"name": "code", "picks": data["purpose"]["picks"]}
    for reason in reasons:
        assert reason in shell and reason in page
    for text in (shell, page):
        assert "LMArena Text: coding" in text and "2026-10-05" in text and "CC BY 4.0" in text
    cells = grid_value(columns("4090", "code"), answer.rows, ENGLISH)["data"]
    assert isinstance(cells, list) and [row[0] for row in cells] == ids(answer)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_hostile_board_is_escaped(language: Language) -> None:
    hostile = [score(LEADING["chat"], LARGE, 1), score(SECOND["chat"], LARGE, 2)]
    answer = ask(boards_of(*hostile), purpose="chat", top=3)
    shown = models_for_html(answer, Words(language)) + quality_cell(answer.rows[0], Words(language))
    assert "<b>as served" not in shown


def test_a_machine_says_its_memory_and_the_part_in_it() -> None:
    answer = embedded("3060 + 64 GB RAM", "code")
    assert "GeForce RTX 3060 12GB + 64 GB RAM" in answer.conclusion.sentence(say_note)
    row = next(row for row in answer.rows if row.runs.verdict.value == "offload")
    assert row.ram_bytes > 0 and row.used_bytes > row.ram_bytes
    shown = str(grid_value(columns("", "code"), [row], ENGLISH)["metadata"])
    assert f"{row.ram_bytes / GIB:.3g} GiB in RAM" in shown


def test_the_longest_context_moves_more_experts_to_system_memory() -> None:
    """The context that is said to fit does, when it is asked for."""
    asked = {"gpu": "3060 + 64 GB RAM", "models": ["Qwen/Qwen3.6-35B-A3B"]}
    (row,) = models_for(embedded_sizer(), asked).rows
    assert row.max_context is not None and row.max_context > 100_000
    (longer,) = models_for(embedded_sizer(), {**asked, "context": row.max_context}).rows
    here, there = row.runs.config.arranged, longer.runs.config.arranged
    assert here is not None and there is not None
    assert longer.runs.verdict is row.runs.verdict
    assert there.how.cpu_experts > here.how.cpu_experts


@pytest.mark.parametrize("spelt, purpose", [("Coding", "code"), ("images", "pictures"), ("", "")])
def test_purposes_are_read_as_people_write_them(spelt: str, purpose: str) -> None:
    answer = ask(boards_of(score(LEADING["chat"], SMALL, 1)), purpose=spelt, top=1)
    assert (answer.request.work or "") == purpose


def test_an_unknown_purpose_is_refused_with_the_choices() -> None:
    with pytest.raises(InvalidRequest) as raised:
        ask(boards_of(score(LEADING["chat"], SMALL, 1)), purpose="poetry")
    assert raised.value.fields["field"] == "purpose" and "agents" in str(raised.value.fields)
