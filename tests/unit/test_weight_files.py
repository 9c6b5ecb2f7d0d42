"""The selection of a repository's weight files."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gpusizer.core.errors import NoWeights
from scrapers.formats.weight_files import Selection, select_weights, uncounted, weight_format
from scrapers.formats.weight_sets import RepoFile, is_complete
from tests.counting import steps_of


def files(*paths: str) -> list[RepoFile]:
    """Entries of a file list; every later one is larger."""
    return [RepoFile(path, 1000 + number) for number, path in enumerate(paths)]


def select(*paths: str, pipeline: dict[str, object] | None = None) -> Selection:
    """Return the selection of a repository with these files."""
    return select_weights(files(*paths), "org/name", pipeline)


def shards(pattern: str, count: int, first: int = 1) -> list[str]:
    """Names of numbered files."""
    return [pattern.format(number) for number in range(first, first + count)]


# format, files -> those with a plus are counted, the one with an "at" is their index
ROOTS: dict[str, tuple[str, list[str]]] = {
    "single": ("safetensors", ["+model.safetensors"]),
    "single beats its other copies": (
        "safetensors",
        [
            *("+model.safetensors", "model.fp16.safetensors", "pytorch_model.bin"),
            *("consolidated.safetensors", "original/model.safetensors", "m.gguf"),
        ],
    ),
    "index and its shards": (
        "safetensors",
        ["@model.safetensors.index.json", *shards("+model-{:05}-of-00002.safetensors", 2)],
    ),
    "underscore": (
        "safetensors",
        ["@model.safetensors.index.json", *shards("+model_{:05}-of-00072.safetensors", 72)],
    ),
    "suffix before the number": (
        "safetensors",
        [
            "@model.safetensors.index.json",
            *shards("+model.safetensors-{:05}-of-00003.safetensors", 3),
        ],
    ),
    "unpadded, without an index": ("safetensors", shards("+model-{}-of-3.safetensors", 3)),
    "AutoGPTQ": (
        "safetensors",
        ["+gptq_model-4bit-128g.safetensors", "quantize_config.json"],
    ),
    "index of another name": (
        "safetensors",
        ["@w.safetensors.index.json", *shards("+w-{}-of-2.safetensors", 2), "x.safetensors"],
    ),
    "index whose shards are named otherwise": (
        "safetensors",
        ["@w.safetensors.index.json", "part-a.safetensors", "part-b.safetensors"],
    ),
    "several files of no known name": (
        "safetensors",
        ["small.safetensors", "+large.safetensors"],
    ),
    "fp16 only": ("safetensors", ["+model.fp16.safetensors"]),
    "Mistral's own format only": ("safetensors", ["+consolidated.safetensors", "params.json"]),
    "model beside an adapter": (
        "safetensors",
        ["adapter_model.safetensors", "+model.safetensors"],
    ),
    "adapter": ("adapter", ["adapter_config.json", "+adapter_model.safetensors"]),
    "pickle": ("pickle", ["+pytorch_model.bin", "training_args.bin"]),
    "pickled shards": (
        "pickle",
        ["@pytorch_model.bin.index.json", *shards("+pytorch_model-{:05}-of-00002.bin", 2)],
    ),
    "no pickle beside safetensors": ("safetensors", ["pytorch_model.bin", "+model.safetensors"]),
    "fp16 beside full precision": ("pickle", ["pytorch_model.fp16.bin", "+pytorch_model.bin"]),
    "Meta's": ("pickle", shards("+original/consolidated.{:02}.pth", 2, 0)),
    "Meta's at the root": ("pickle", shards("+consolidated.{:02}.pth", 3, 0)),
    "checkpoint": ("pickle", ["+v1-5-pruned.ckpt"]),
    "pickled adapter": ("adapter", ["+adapter_model.bin", "adapter_config.json"]),
}


@pytest.mark.parametrize("name", ROOTS)
def test_root(name: str) -> None:
    form, marked = ROOTS[name]
    counted, indices = ([path[1:] for path in marked if path[0] == mark] for mark in "+@")
    selection = select(*(path.lstrip("+@") for path in marked))
    (plan,) = selection.components
    assert selection.format == form
    assert plan.name == ("adapter" if form == "adapter" else "model")
    assert [plan.index] == (indices or [None])
    assert plan.folder == ("original" if name == "Meta's" else "")
    assert [file.path for file in plan.files] == counted
    names = counted or indices
    assert plan.pickled is not any(".safetensors" in path for path in names)


PIPELINE = {
    "_class_name": "FluxPipeline",
    "scheduler": ["diffusers", "FlowMatchEulerDiscreteScheduler"],
    "safety_checker": [None, None],
    "text_encoder": ["transformers", "CLIPTextModel"],
    "transformer": ["diffusers", "FluxTransformer2DModel"],
    "vae": ["diffusers", "AutoencoderKL"],
}


def test_pipeline_counts_one_variant_of_each_component() -> None:
    selection = select(
        *("flux1-dev.safetensors", "safety_checker/model.safetensors"),
        *("text_encoder/model.safetensors", "text_encoder/model.fp16.safetensors"),
        "transformer/diffusion_pytorch_model.safetensors.index.json",
        *shards("transformer/diffusion_pytorch_model-{:05}-of-00002.safetensors", 2),
        "vae/diffusion_pytorch_model.fp16.safetensors",
        pipeline=PIPELINE,
    )
    assert selection.format == "diffusers"
    counted = {plan.name: [file.path for file in plan.files] for plan in selection.components}
    assert counted == {
        "transformer": shards("transformer/diffusion_pytorch_model-{:05}-of-00002.safetensors", 2),
        "text_encoder": ["text_encoder/model.safetensors"],
        "vae": ["vae/diffusion_pytorch_model.fp16.safetensors"],
    }
    assert next(iter(counted)) == "transformer"  # the profile takes its configuration


@pytest.mark.parametrize(
    ("paths", "components"),
    [
        (
            ["model.safetensors", "1_Pooling/config.json", "2_Dense/model.safetensors"],
            ["model", "2_Dense"],
        ),
        (["model.safetensors", "2_Dense/pytorch_model.bin"], ["model", "2_Dense"]),
        (
            ["0_Transformer/model.safetensors", "2_Dense/model.safetensors"],
            ["0_Transformer", "2_Dense"],
        ),
    ],
)
def test_sentence_transformers_modules(paths: list[str], components: list[str]) -> None:
    selection = select("modules.json", *paths)
    assert selection.format == "safetensors"
    assert [plan.name for plan in selection.components] == components


@pytest.mark.parametrize(
    ("paths", "folder"),
    [
        (["README.md", "weights/model.safetensors"], "weights"),
        (["a/model.safetensors", "b/model.safetensors"], "b"),  # the larger one
        (["a/model.safetensors", "checkpoints/9/model.safetensors"], "a"),
    ],
)
def test_folders(paths: list[str], folder: str) -> None:
    (plan,) = select(*paths).components
    assert (plan.name, plan.folder) == (folder, folder)


@pytest.mark.parametrize(
    "paths",
    [
        ["model.safetensors.index.fp16.json", *shards("model.fp16-{:05}-of-00002.safetensors", 2)],
        ["model.fp16.safetensors.index.json", *shards("model-{:05}-of-00002.fp16.safetensors", 2)],
    ],
)
def test_sharded_variants(paths: list[str]) -> None:
    (plan,) = select(*paths).components
    assert plan.index == paths[0]
    assert len(plan.files) == 2


@pytest.mark.parametrize(
    ("paths", "told"),
    [
        (["README.md", "training_args.bin", "optimizer.pt"], {"formats": []}),
        (["data.csv", "tf_model.h5", "m.imatrix.gguf"], {"formats": ["gguf", "keras"]}),
        (["data.csv", "tf_model.h5", "model.onnx"], {"formats": ["keras", "onnx"]}),
        ([], {"formats": [], "reason": "empty"}),
        (["README.md", ".gitattributes"], {"formats": [], "reason": "empty"}),
    ],
)
def test_no_weights_lists_the_formats_of_the_files(
    paths: list[str], told: dict[str, object]
) -> None:
    with pytest.raises(NoWeights) as caught:
        select(*paths)
    assert caught.value.fields == {"repo_id": "org/name", **told}


def test_a_pipeline_may_be_pickled() -> None:
    selection = select(
        *("unet/diffusion_pytorch_model.bin", "vae/diffusion_pytorch_model.safetensors"),
        pipeline={"unet": ["diffusers", "U"], "vae": ["diffusers", "V"]},
    )
    assert [(plan.name, plan.pickled) for plan in selection.components] == [
        ("unet", True),
        ("vae", False),
    ]


def test_other_copies_are_listed() -> None:
    listed = files("z.gguf", "README.md", "model.safetensors", "original/consolidated.00.pth")
    uncounted_files = uncounted(listed, {"model.safetensors"})
    assert [file.path for file in uncounted_files] == ["original/consolidated.00.pth", "z.gguf"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a/model.safetensors", "safetensors"),
        ("pytorch_model.bin", "pickle"),
        ("training_args.bin", None),
        ("model.safetensors.index.json", None),
    ],
)
def test_weight_format(path: str, expected: str | None) -> None:
    assert weight_format(path) == expected


def test_numbering_from_nought_or_one() -> None:
    assert is_complete(files(*shards("model-{:05}-of-00002.safetensors", 2)))
    assert is_complete(files(*shards("model-{:05}-of-00002.safetensors", 3, first=0)))
    assert not is_complete(files("model-00001-of-00002.safetensors"))
    assert is_complete(files("model.safetensors"))


def folders(count: int) -> object:
    return select(*(f"folder-{number}/model.safetensors" for number in range(count)))


def modules(count: int) -> object:
    return select("modules.json", *(f"{n}_x/model.safetensors" for n in range(count)))


def numbered(count: int) -> object:
    return select(*shards(f"model-{{:05}}-of-{count:05}.safetensors", count))


def components(count: int) -> object:
    pipeline = {f"folder-{number}": ["a", "b"] for number in range(2 * count)}
    return select(
        *(f"folder-{number}/model.safetensors" for number in range(count)), pipeline=pipeline
    )


@pytest.mark.parametrize("repository", [folders, modules, numbered, components])
def test_choosing_takes_one_pass_whatever_the_repository_looks_like(
    repository: Callable[[int], object],
) -> None:
    """Twice as many files take twice the steps."""
    half, whole = (steps_of(lambda count=count: repository(count)) for count in (1500, 3000))
    assert whole < 2.1 * half
    repository(30_000)
