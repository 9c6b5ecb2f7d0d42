"""The tool that writes `data/models`, on a folder of two small repositories."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from scrapers.embedded import EmbeddedSnapshots
from scripts.build_snapshots import read_all, wanted, write
from tests.hub_emulator import llama_repo
from tests.hub_emulator.safetensors_files import read_header

FILE = "model.safetensors"


def add_model(folder: Path, repo_id: str, **changes: Any) -> None:
    """One repository in the layout that the tool reads."""
    repo = llama_repo(repo_id, config={"id2label": {"0": "x"}, "bos_token_id": 1})
    weights = repo.files[FILE]
    target = folder / repo_id.replace("/", "__")
    target.mkdir()
    (target / "config.json").write_bytes(repo.files["config.json"].head_bytes())
    headers = json.dumps({FILE: read_header(weights)}).encode()
    (target / "headers.json.gz").write_bytes(gzip.compress(headers))
    meta = {
        "id": repo_id,
        "revision": None,
        "verified": True,
        "verification": ["lfs"],
        "config_basis": "mirror",
        "siblings": [{"rfilename": FILE, "size": weights.size}],
        "header_json_bytes": {FILE: int.from_bytes(weights.read(0, 8), "little")},
        "params_by_dtype": {},
        "gated": True,
        "tags": None,
        "library_name": None,
        "license": "mit",
        "pipeline_tag": "text-generation",
    }
    (target / "meta.json").write_text(json.dumps(meta | changes), "utf-8")


def test_snapshots_are_written_alike_every_time(tmp_path: Path) -> None:
    corpus, output = tmp_path / "corpus", tmp_path / "models"
    corpus.mkdir()
    output.mkdir()
    add_model(corpus, "openai-community/b", config_basis="written from memory")
    add_model(corpus, "org/a", revision="0" * 40)
    add_model(corpus, "org/unchecked", verified="clone")
    (output / "org__gone.json").write_text("{}", "utf-8")
    written = []
    for _ in range(2):
        assert write(read_all(corpus, wanted(corpus), "2026-11-20"), output) > 0
        written.append({path.name: path.read_bytes() for path in output.iterdir()})
    assert written[0] == written[1]
    embedded = EmbeddedSnapshots(output)
    assert embedded.ids() == ("openai-community/b", "org/a")
    former, other = embedded.get("b"), embedded.get("org/a")
    assert former is not None
    assert other is not None
    assert former.evidence == ("lfs", "config_reconstructed")
    assert (former.sha, former.retrieved_at, former.gated) == (None, "2026-11-20", True)
    assert (other.evidence, other.sha, other.license) == (("lfs",), "0" * 40, "mit")
    config = other.components[0].config
    assert config is not None
    assert config["hidden_size"] == 64
    assert not {"id2label", "bos_token_id"} & config.keys()
