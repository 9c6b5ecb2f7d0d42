"""gpusizer.gpus: reading the table, finding a GPU by any name, arrays for ranking."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from gpusizer.core.errors import UnknownGpu
from gpusizer.core.paths import DATA_DIR
from gpusizer.core.units import MIB
from gpusizer.gpus import Catalogue, Gpu, load_catalogue
from gpusizer.gpus.names import candidate_keys, name_key


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return load_catalogue()


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Return a folder with a copy of two real rows and one alias, free to be damaged."""
    lines = (DATA_DIR / "gpus.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    rows = [line for line in lines[1:] if line.startswith(("rtx-4090-24gb,", "rtx-3090-24gb,"))]
    (tmp_path / "gpus.csv").write_text("".join([lines[0], *rows]), encoding="utf-8")
    (tmp_path / "gpu_aliases.csv").write_text("alias,slug\nbig Ada,rtx-4090-24gb\n", "utf-8")
    return tmp_path


def edit(folder: Path, column: str, text: str) -> None:
    """Set one cell of the first row."""
    path = folder / "gpus.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    rows[0][column] = text
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


# Spelling -> slug. The order follows the documentation of defaults in data/SOURCES.md.
SPELLINGS = {
    "4090": "rtx-4090-24gb",
    "RTX4090": "rtx-4090-24gb",
    "rtx 4090 24g": "rtx-4090-24gb",
    "  NVIDIA GeForce RTX 4090 ": "rtx-4090-24gb",
    "4090 48G": "rtx-4090-48gb-mod",
    "RTX 4090D": "rtx-4090-d-24gb",
    "4070Ti Super": "rtx-4070-ti-super-16gb",
    "A100": "a100-sxm-80gb",
    "A100 80 GB": "a100-sxm-80gb",
    "A100 40G": "a100-sxm-40gb",
    "NVIDIA A100-SXM4-80GB": "a100-sxm-80gb",
    "NVIDIA A100 80GB PCIe": "a100-pcie-80gb",
    "NVIDIA H100 80GB HBM3": "h100-sxm-80gb",
    "H100 NVL": "h100-nvl-94gb",
    "B200 192GB": "b200-sxm-180gb",
    "V100": "v100-sxm2-16gb",
    "v100-32g": "v100-sxm2-32gb",
    "Tesla T4": "tesla-t4-16gb",
    "P6000": "quadro-p6000-24gb",
    "RTX 4000": "quadro-rtx-4000-8gb",
    "RTX A4000": "rtx-a4000-16gb",
    "RTX 4000 Ada": "rtx-4000-ada-20gb",
    "6000 Ada": "rtx-6000-ada-48gb",
    "A6000": "rtx-a6000-48gb",
    "NVIDIA RTX PRO 6000 Blackwell Workstation Edition": "rtx-pro-6000-blackwell-96gb",
    "3080": "rtx-3080-10gb",
    "3080 12": "rtx-3080-12gb",
    "3060": "rtx-3060-12gb",
    "3060 mobile": "rtx-3060-laptop-6gb",
    "NVIDIA GeForce RTX 3060 Laptop GPU": "rtx-3060-laptop-6gb",
    "2080 Ti": "rtx-2080-ti-11gb",
    "2080 Ti 22G": "rtx-2080-ti-22gb-mod",
    "魔改 2080Ti": "rtx-2080-ti-22gb-mod",
    "m3 max 128": "apple-m3-max-128gb",
    "MacBook Pro M3 Max 128GB": "apple-m3-max-128gb",
    "M2 Ultra 192 GB": "apple-m2-ultra-192gb",
    "7900xtx": "rx-7900-xtx-24gb",
    "AMD Instinct MI300X": "instinct-mi300x-192gb",
    "Strix Halo": "ryzen-ai-max-395-128gb",
    "Strix Halo 96GB": "ryzen-ai-max-395-96gb",
    "DGX Spark": "gb10-dgx-spark-128gb",
    "Intel(R) Arc(TM) A770 Graphics": "arc-a770-16gb",
    "910B": "ascend-910b-64gb",
    "昇腾910B": "ascend-910b-64gb",
    "华为昇腾 910C": "ascend-910c-128gb",
    "ＲＴＸ ４０９０": "rtx-4090-24gb",
    "T400": "t400-4gb",
    "RTX A400": "rtx-a400-4gb",
    "RTX A500": "rtx-a500-laptop-4gb",
    "RTX 500 Ada": "rtx-500-ada-laptop-4gb",
    "MI25": "instinct-mi25-16gb",
    "RX 6700": "rx-6700-10gb",
    "RX 7700": "rx-7700-16gb",
    "RX 9060": "rx-9060-8gb",
    "Jetson Nano": "jetson-nano-4gb",
    "Jetson Orin Nano": "jetson-orin-nano-super-8gb",
    "5070 Laptop 12GB": "rtx-5070-laptop-12gb",
    "Trainium": "trainium1-32gb",
    "RTX 4050": "rtx-4050-laptop-6gb",
    "RTX 2050": "rtx-2050-laptop-4gb",
    "NVIDIA GeForce RTX 3050 6GB Laptop GPU": "rtx-3050-laptop-6gb",
    "NVIDIA GeForce RTX 3050 Laptop GPU": "rtx-3050-laptop-4gb",
    "NVIDIA H200 141GB HBM3e": "h200-sxm-141gb",
    "MI300X OAM": "instinct-mi300x-192gb",
    "H100 96GB": "h100-sxm-96gb",
    "RTX Pro 6000 WS": "rtx-pro-6000-blackwell-96gb",
    "W7900 Dual Slot": "radeon-pro-w7900-48gb",
    "TPU v5 lite": "tpu-v5e-16gb",
    "思元590": "mlu590-80gb",
    "昆仑芯P800": "kunlunxin-p800-96gb",
    "沐曦 C550": "metax-c550-64gb",
    "L40S-48C": "l40s-48gb",
    "Ascend-910C": "ascend-910c-128gb",
    "Arc 140V": "arc-140v-32gb",
    "Ryzen AI 9 HX 370": "radeon-890m-32gb",
    "M2 8GB": "apple-m2-8gb",
    "MacBook Neo": "apple-a18pro-8gb",
    "DGX Station": "dgx-station-gb300-252gb",
    "RTX Spark": "rtx-spark-n1x-675-128gb",
}


@pytest.mark.parametrize("spelling, slug", SPELLINGS.items())
def test_find_accepts_common_spellings(catalogue: Catalogue, spelling: str, slug: str) -> None:
    assert catalogue.find(spelling).slug == slug


@pytest.mark.parametrize(
    ("text", "first_suggestion"),
    [
        ("M3 Max", "Apple M3 Max 36GB"),
        ("RTX 4090 80GB", "GeForce RTX 4090 24GB"),
        ("H101", "H100 SXM5 80GB"),
        ("rtx 6000 adda", "RTX 6000 Ada 48GB"),
    ],
)
def test_an_ambiguous_name_gets_suggestions(
    catalogue: Catalogue, text: str, first_suggestion: str
) -> None:
    with pytest.raises(UnknownGpu) as caught:
        catalogue.find(text)
    suggestions = caught.value.fields["suggestions"]
    assert isinstance(suggestions, list)
    assert first_suggestion in suggestions
    assert len(suggestions) == len(set(suggestions)) <= 5
    assert caught.value.fields["value"] == text


@pytest.mark.parametrize(
    "text, near",
    [
        ("gfx1151", "Ryzen AI Max+ 395 (Radeon 8060S) 128GB"),  # several products and sizes
        ("MI450X", "Instinct MI455X 432GB"),
        ("RTX 3040", "GeForce RTX 3050 8GB"),
        ("rtz 4090", "GeForce RTX 4090 24GB"),
        ("RX 4090", "GeForce RTX 4090 24GB"),  # no card of that maker has the number
        ("L40S-24C", "L40S 48GB"),
        ("Hygon K100", "Hygon DCU K100_AI 64GB"),
        ("A100 20GB", "A100 SXM4 80GB"),
        ("strix hallo", "Ryzen AI Max+ 395 (Radeon 8060S) 128GB"),
        ("RTX PRO 500", "RTX PRO 5000 Blackwell 48GB"),
    ],
)
def test_suggestions_are_of_the_same_kind(catalogue: Catalogue, text: str, near: str) -> None:
    assert near in catalogue.suggestions(text)
    with pytest.raises(UnknownGpu):
        catalogue.find(text)


def test_numbers_alike_suggest_no_card_of_another_kind(catalogue: Catalogue) -> None:
    assert catalogue.suggestions("MX450") == []  # no Tesla M40
    assert not {"H200", "B200"} & {name.split()[0] for name in catalogue.suggestions("RTX 2055")}
    assert not any("Ti" in name for name in catalogue.suggestions("Arc 155T"))


@pytest.mark.parametrize(
    "text, reason",
    [
        ("Groq LPU", "accelerator"),
        ("Cerebras CS-3", "accelerator"),
        ("SambaNova SN40L", "accelerator"),
        ("Graphcore IPU", "accelerator"),
        ("Hailo-10H", "npu"),
        ("Ryzen AI 9 HX 370 NPU", "npu"),
        ("iPhone 16 Pro", "phone"),
        ("EPYC 9654", "processor"),
        ("RTX 5080 SUPER", "unreleased"),
        ("MI430X", "unreleased"),
        ("Snapdragon X Elite", "unpublished"),
        ("Atlas 300I Duo", "unpublished"),
    ],
)
def test_what_is_no_gpu_of_the_catalogue_is_refused_with_the_reason(
    catalogue: Catalogue, text: str, reason: str
) -> None:
    with pytest.raises(UnknownGpu) as caught:
        catalogue.find(text)
    assert caught.value.fields["reason"] == reason
    assert bool(caught.value.fields["suggestions"]) <= (reason in ("unreleased", "unpublished"))
    assert catalogue.search(text) == []
    assert catalogue.unknown(text).fields == caught.value.fields


def test_no_name_of_the_catalogue_is_said_to_be_none(catalogue: Catalogue) -> None:
    for gpu in catalogue.gpus:
        for name in names(gpu):
            assert catalogue.search(name), name


def test_a_number_that_goes_on_is_another_product(catalogue: Catalogue) -> None:
    assert catalogue.search("B20") == catalogue.search("MI6") == []
    assert {gpu.vendor for gpu in catalogue.search("rtx 40")} == {"NVIDIA"}  # a series


@pytest.mark.parametrize("text", ["", "  ", "gpu", "NVIDIA", "😀", "(", "4" * 5000])
def test_an_unrecognisable_name_gets_no_suggestions(catalogue: Catalogue, text: str) -> None:
    with pytest.raises(UnknownGpu) as caught:
        catalogue.find(text)
    assert caught.value.fields == {"value": text[:100], "suggestions": []}


def slugs(catalogue: Catalogue, query: str) -> list[str]:
    return [gpu.slug for gpu in catalogue.search(query)]


def test_search_needs_every_word(catalogue: Catalogue) -> None:
    assert slugs(catalogue, "4090d 48gb mod") == ["rtx-4090-d-48gb-mod"]
    assert slugs(catalogue, "hopper 94") == ["h100-nvl-94gb"]
    assert {gpu.vendor for gpu in catalogue.search("amd cdna")} == {"AMD"}
    strix = slugs(catalogue, "strix")
    assert "radeon-890m-32gb" in strix and set(slugs(catalogue, "strix halo")) < set(strix)
    assert slugs(catalogue, "apple 128 GB") == slugs(catalogue, "128gb apple") != []
    assert catalogue.search("no such card") == []
    assert catalogue.search("!?") == []
    assert tuple(catalogue.search("  ")) == catalogue.gpus


def names(gpu: Gpu) -> list[str]:
    return [gpu.slug, gpu.name, *gpu.aliases]


def test_search_lists_the_exact_match_first(catalogue: Catalogue) -> None:
    """Whatever names a GPU: its slug, its name, its aliases."""
    for gpu in catalogue.gpus:
        for name in names(gpu):
            assert catalogue.search(name)[0] is catalogue.find(name), name


@pytest.mark.parametrize(
    "query, first",
    [
        ("L4", ["l4-24gb", "l40-48gb", "l40s-48gb"]),
        ("T4", ["tesla-t4-16gb", "t400-4gb", "jetson-t4000-64gb"]),
        ("A10", ["a10-24gb", "rtx-a1000-8gb", "a10g-24gb"]),
        ("rtx4090", ["rtx-4090-24gb", "rtx-4090-d-24gb", "rtx-4090-48gb-mod"]),
        ("英伟达 4090", ["rtx-4090-24gb", "rtx-4090-d-24gb"]),
        ("MacBook Pro M3 Max 128GB", ["apple-m3-max-128gb"]),
        ("MacBook Pro M3", ["apple-m3-8gb", "apple-m3-16gb", "apple-m3-24gb"]),
    ],
)
def test_whole_words_come_before_beginnings(
    catalogue: Catalogue, query: str, first: list[str]
) -> None:
    assert slugs(catalogue, query)[: len(first)] == first


def test_search_looks_at_no_letters_inside_of_words(catalogue: Catalogue) -> None:
    assert not {"rtx-pro-5000-blackwell-48gb", "quadro-gv100-32gb"} & {
        *slugs(catalogue, "L4"),
        *slugs(catalogue, "V100"),
    }
    assert slugs(catalogue, "V100")[0] == catalogue.find("V100").slug
    assert catalogue.search("090") == []


def test_search_shows_every_size_of_a_product(catalogue: Catalogue) -> None:
    sizes = slugs(catalogue, "MacBook Pro M3 Max")
    assert sizes == slugs(catalogue, "m3 max") and len(sizes) == 5
    assert {gpu.vendor for gpu in catalogue.search("macbook")} == {"Apple"}


def test_key_separates_product_and_size() -> None:
    assert name_key("NVIDIA GeForce RTX 4090 24 GiB") == ("4090", 24)
    assert name_key("GB10") == ("gb10", None)
    assert candidate_keys("RTX 4090") == (("4090", None),)
    assert candidate_keys("m3 max 128") == (("m3max128", None), ("m3max", 128))


def test_rows_hold_what_the_file_says(catalogue: Catalogue) -> None:
    by_slug = {gpu.slug: gpu for gpu in catalogue.gpus}
    assert by_slug["rtx-4090-24gb"].device_memory_bytes == 24564 * MIB
    assert by_slug["instinct-mi250x-128gb"].device_memory_bytes == 65520 * MIB
    assert by_slug["a16-64gb"].devices_per_board == 4
    assert by_slug["rtx-4090-24gb"].bandwidth_bytes_per_second == 1008e9
    assert by_slug["rtx-4090-24gb"].fp16_flops == 165.2e12
    # The P6000 has no tensor cores and FP16 at 1/64 rate: FP32 is its fastest.
    assert by_slug["quadro-p6000-24gb"].fp16_flops == by_slug["quadro-p6000-24gb"].fp32_flops
    assert by_slug["ascend-910b-64gb"].bandwidth_bytes_per_second is None
    assert by_slug["gtx-1050-2gb"].rent is None
    assert by_slug["apple-m1-8gb"].software == "Metal"
    assert by_slug["rtx-3090-24gb"].nvlink and not by_slug["rtx-4090-24gb"].nvlink


def test_street_price_wins_over_launch_price(catalogue: Catalogue) -> None:
    def basis(gpu: Gpu) -> str | None:
        return None if gpu.buy is None else gpu.buy.basis

    assert basis(catalogue.find("RTX 3090")) == "street"
    assert basis(catalogue.find("RTX 2080")) == "launch"
    assert basis(catalogue.find("P100 SXM2")) is None
    assert catalogue.find("P100 SXM2").buy_usd is None


def test_names_must_be_unique(table: Path) -> None:
    edit(table, "slug", "rtx-4090-24gb")
    with pytest.raises(ValueError, match="'rtx-4090-24gb' names both"):
        load_catalogue(table)


def test_alias_file_must_fit(table: Path) -> None:
    assert load_catalogue(table).find("BIG ada").aliases == ("big Ada",)
    aliases = table / "gpu_aliases.csv"
    aliases.write_text("alias,slug\nx,no-such-gpu\n", "utf-8")
    with pytest.raises(ValueError, match=r"gpu_aliases\.csv: .*no-such-gpu"):
        load_catalogue(table)
    aliases.write_text("alias,slug\nx,rtx-4090-24gb\nx,rtx-3090-24gb\n", "utf-8")
    with pytest.raises(ValueError, match=r"gpu_aliases\.csv, line 3: field alias"):
        load_catalogue(table)


@pytest.mark.parametrize(
    "name, boards, joined",
    [
        ("rtx-3090-24gb", 2, True),
        ("rtx-3090-24gb", 3, False),  # a bridge joins two
        ("h100-pcie-80gb", 2, True),
        ("h100-pcie-80gb", 8, False),
        ("h100-sxm-80gb", 8, True),
        ("rtx-4090-24gb", 2, False),  # no bridge at all
    ],
)
def test_a_fabric_joins_as_many_boards_as_its_domain(name: str, boards: int, joined: bool) -> None:
    assert load_catalogue().find(name).fabric_joins(boards) is joined
