"""The emulator's files and repositories agree with the libraries that read them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import safetensors
from huggingface_hub import HfApi

from tests.hub_emulator import (
    HubEmulator,
    corpus_repo,
    corpus_repos,
    literal_file,
    moe_repo,
    raw_safetensors_file,
    safetensors_file,
    sharded_repo,
    sparse_file,
    sparse_safetensors_file,
)
from tests.unit.emulator.hub_requests import GIB, TENSORS


class TestFiles:
    @pytest.mark.parametrize("metadata", [None, {"format": "pt"}])
    def test_sparse_header_is_the_librarys(self, metadata: dict[str, str] | None) -> None:
        real = safetensors_file(TENSORS, metadata)
        sparse = sparse_safetensors_file(TENSORS, metadata)
        assert sparse.size == real.size
        assert sparse.read(0, sparse.size) == real.read(0, real.size)

    def test_every_dtype_is_in_the_librarys_order(self) -> None:
        dtypes = "U64 I64 F64 C64 F32 U32 I32 BF16 F16 U16 I16 F8_E5M2FNUZ F8_E4M3FNUZ"
        names = [*dtypes.split(), *["F8_E8M0", "F8_E4M3", "F8_E5M2", "I8", "U8", "F4", "BOOL"]]
        tensors = {f"t{number}": (dtype, (2,)) for number, dtype in enumerate(sorted(names))}
        real, sparse = safetensors_file(tensors), sparse_safetensors_file(tensors)
        assert sparse.read(0, sparse.size) == real.read(0, real.size)

    def test_library_opens_sparse_file(self, tmp_path: Path) -> None:
        path = tmp_path / "model.safetensors"
        sparse = sparse_safetensors_file(TENSORS, {"format": "pt"})
        path.write_bytes(sparse.read(0, sparse.size))
        with safetensors.safe_open(path, framework="numpy") as file:
            assert set(file.keys()) == set(TENSORS)
            assert file.metadata() == {"format": "pt"}
            assert file.get_slice("b.weight").get_shape() == [4, 3]

    def test_a_raw_file_claims_the_given_header(self) -> None:
        file = raw_safetensors_file(b"{}", header_length=2**63, data_size=6)
        assert file.size == 16
        assert file.read(0, 99) == (2**63).to_bytes(8, "little") + b"{}" + bytes(6)

    def test_sparse_file_reads_zeros_past_its_head(self) -> None:
        file = sparse_file(6 * GIB, b"GGUF")
        assert file.read(2, 6) == b"UF\0\0"
        assert file.read(6 * GIB - 2, 7 * GIB) == b"\0\0"
        assert file.sha256 != sparse_file(5 * GIB, b"GGUF").sha256

    def test_git_names(self) -> None:
        assert literal_file("hello\n").oid == "ce013625030ba8dba906f756967f9e9ca394464a"
        pointer = literal_file("hello\n", lfs=True).lfs_pointer
        assert b"sha256:5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03" in pointer

    def test_shards_hold_every_tensor_once(self) -> None:
        repo = sharded_repo("a/b", {f"t{n}": ("F32", (10,)) for n in range(9)}, shards=4)
        assert repo.counted_parameters() == {"F32": 90}
        assert len(repo.weight_paths()) == 4

    def test_moe_counts(self) -> None:
        repo = moe_repo(layers=1, experts=4, hidden=8, expert_size=4, vocab=10, dtype="F16")
        experts = 4 * 3 * 8 * 4
        attention = 2 * 8 * 64 + 2 * 8 * 32
        norms = 8 + 8 + 16 + 16 + 8
        assert repo.counted_parameters() == {
            "F16": experts + attention + norms + 4 * 8 + 2 * 10 * 8
        }


class TestCorpus:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        folder = tmp_path / "org__model"
        (folder / "vae").mkdir(parents=True)
        header = {"w": {"dtype": "F16", "shape": [4, 2], "data_offsets": [0, 16]}}
        shard, gguf = "model-00001-of-00001.safetensors", "model.Q4_K_M.gguf"
        meta: dict[str, Any] = {
            "id": "org/model",
            "revision": None,
            "siblings": [
                {"rfilename": shard, "size": 8 + 104 + 16},
                {"rfilename": gguf, "size": 4 * GIB, "lfs_sha256": "ab" * 32},
                {"rfilename": "tokenizer.model", "size": None},
            ],
            "header_json_bytes": {shard: 104},
            "params_by_dtype": {"F16": 8},
            "gated": False,
            "pipeline_tag": "text-generation",
            "library_name": None,
            "tags": None,
            "license": "mit",
        }
        index = json.dumps({"metadata": {"total_size": 16}, "weight_map": {"w": shard}})
        (folder / "meta.json").write_text(json.dumps(meta))
        (folder / "headers.json.gz").write_bytes(
            gzip.compress(json.dumps({shard: header}).encode())
        )
        (folder / "model.safetensors.index.json.gz").write_bytes(gzip.compress(index.encode()))
        (folder / "README.md").write_text("---\nbase_model: org/base\nlicense: gemma\n---\n")
        (folder / "vae" / "config.json").write_text("{}")
        return folder

    def test_headers_are_read_on_first_use(self, folder: Path) -> None:
        (folder / "headers.json.gz").rename(folder.parent / "away.gz")
        (repo,) = corpus_repos(folder.parent)
        (folder.parent / "away.gz").rename(folder / "headers.json.gz")
        assert repo.counted_parameters() == {"F16": 8}

    def test_repo(self, folder: Path) -> None:
        with HubEmulator([corpus_repo(folder)]) as hub:
            api = HfApi(endpoint=hub.endpoint, token=False)
            info = api.model_info("org/model", files_metadata=True)
            assert info.card_data is not None
            assert (info.card_data.license, info.card_data.base_model) == ("gemma", "org/base")
            assert info.safetensors == {"parameters": {"F16": 8}, "total": 8}
            sizes = {sibling.rfilename: sibling.size for sibling in info.siblings or ()}
            assert sizes["model.Q4_K_M.gguf"] == 4 * GIB
            assert "vae/config.json" in sizes
            assert api.get_safetensors_metadata("org/model").parameter_count == {"F16": 8}
            metadata = api.get_sharded_safetensors_metadata("org/model")
            assert metadata.parameter_count == {"F16": 8}
